#include "cmd/doctor/doctor_trace.h"

#include <algorithm>
#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "api/record/doctor.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "cmd/doctor/cured_trace.h"

namespace cairn {
namespace {

// The sums of a trace are those of all its lines, whenever they were written.
constexpr int64_t kNoTime = 0;
// The causes that cost most are replayed, so many of each file.
constexpr size_t kReplaysMax = 8;
// Fewer tokens than these are lost to the cuts of prompts, or two messages have the same length by
// chance.
constexpr size_t kFoundTokensMin = 192;
// The cure of states that were not kept is more memory, this many times as much.
constexpr size_t kMoreMemory = 4;

// Returns the number of the token at a position of the prompt, which stands for all up to it.
uint64_t NumberAt(const TraceRequest& request, size_t position) {
  for (const BlockRange& range : request.token_ids) {
    const size_t count = size_t{range.last} - range.first + 1;
    if (position < count) return range.first + position;
    position -= count;
  }
  return 0;
}

// The messages of a prompt. A turn is a user's message or a tool's result; where the tokens that
// end messages show where it ends, an answer is behind it.
PromptSketch SketchOfTurns(const TraceRequest& request) {
  const PromptShape& shape = request.shape;
  PromptSketch sketch;
  sketch.header_end = shape.header_end;
  if (shape.header_end > 0) sketch.system = NumberAt(request, shape.header_end - 1) + 1;
  const auto add = [&](Role role, size_t begin, size_t end) {
    sketch.messages.push_back({role, HashMix(1, end - begin), 0, end});
  };
  auto eog = shape.eog_ends.begin();
  for (size_t i = 0; i < shape.turns.size(); ++i) {
    if (sketch.messages.size() + 2 > PromptSketch::kMessagesMax) break;
    const auto [begin, by_user] = shape.turns[i];
    const bool last = i + 1 == shape.turns.size();
    const size_t end = last ? shape.messages_end : shape.turns[i + 1].position;
    if (end < begin) break;
    eog = std::upper_bound(eog, shape.eog_ends.end(), begin);
    const auto behind = std::upper_bound(eog, shape.eog_ends.end(), end);
    const Role role = by_user ? Role::kUser : Role::kTool;
    const bool ends_at_eog = behind - eog >= (last ? 1 : 2);
    const size_t said_end = ends_at_eog ? *eog : end;
    add(role, begin, said_end);
    if (!last && ends_at_eog) add(Role::kAssistant, said_end, end);
    eog = behind;
  }
  return sketch;
}

DiagnosedRequest DiagnosedOf(const TraceRequest& request, size_t reused, size_t shared) {
  DiagnosedRequest diagnosed{request.input_tokens, reused};
  const size_t known = std::max(request.shape.messages_end, request.shape.header_end);
  if (!request.reuse) {
    diagnosed.why = Explanation::Why::kNotAllowed;
  } else if (shared < std::min(known, request.input_tokens)) {
    diagnosed.why = Explanation::Why::kDiverged;
  } else {
    diagnosed.why = Explanation::Why::kNoCheckpoint;
  }
  return diagnosed;
}

// One file.
class FileDoctor {
 public:
  FileDoctor(std::string path, const Trace& trace, const SimOptions& options)
      : path_(std::move(path)), options_(options), recorded_(RecordedRequestsOf(trace)) {}

  // Adds all requests to the doctor's sums.
  Status Look(Doctor* doctor);
  // Returns the tokens that each cure saves, by the client's name and the cause's. The causes that
  // cost most are replayed.
  Result<std::map<std::pair<std::string, std::string>, size_t>> Saved() const;

 private:
  struct Known {
    std::deque<size_t> prompts = {};  // those that the doctor keeps, newest first
    std::deque<PromptSketch> sketches = {};
  };
  struct Finding {
    Cause cause = Cause::kNone;
    size_t avoidable_tokens = 0;
    std::optional<Cure> cure = {};
  };

  Doctor::Client ClientOf(uint64_t name_space) const {
    return {0, path_ + ", key " + std::to_string(name_space), "of the trace"};
  }
  size_t ReusedOf(size_t index) const {
    const TraceRequest& request = recorded_.requests[index];
    return std::min(request.reused_tokens.value_or(replayed_[index]), request.input_tokens);
  }
  Finding Find(size_t index, size_t shared, Doctor* doctor, Diagnosis* diagnosis);
  std::optional<Cure> CureFor(const Known& known, const Diagnosis& diagnosis) const;
  Result<size_t> SavedBy(uint64_t name_space, Cause cause) const;

  const std::string path_;
  const SimOptions options_;
  const RecordedRequests recorded_;
  std::vector<size_t> replayed_;   // reused tokens
  std::vector<Finding> findings_;  // of each request
  std::map<uint64_t, Known> known_;
};

Status FileDoctor::Look(Doctor* doctor) {
  auto replayed = ReusedInReplay(recorded_.requests, recorded_.at_ms, options_);
  if (!replayed) return tl::unexpected(replayed.error());
  replayed_ = *std::move(replayed);
  NumberOwners owners;
  for (size_t i = 0; i < recorded_.requests.size(); ++i) {
    const TraceRequest& request = recorded_.requests[i];
    findings_.emplace_back();
    const size_t known = owners.Find(request.token_ids).tokens;
    owners.Add(request.token_ids, known, i);
    // Further answers have no prompt of their own.
    if (request.answer > 0) continue;
    Diagnosis diagnosis;
    findings_.back() = Find(i, std::min(known, request.input_tokens), doctor, &diagnosis);
    Doctor::Ended ended{.id = "request " + std::to_string(i + 1), .begun_unix_s = kNoTime};
    ended.prompt_tokens = request.input_tokens;
    ended.reused_tokens = ReusedOf(i);
    const size_t prefilled = ended.prompt_tokens - ended.reused_tokens;
    ended.prompt_ms = request.prompt_ms.value_or(static_cast<double>(prefilled) * kMsPerS /
                                                 options_.profile.prefill_tokens_per_s);
    ended.diagnosis = diagnosis;
    doctor->Note(ClientOf(request.name_space), ended);
  }
  return {};
}

FileDoctor::Finding FileDoctor::Find(size_t index, size_t shared, Doctor* doctor,
                                     Diagnosis* diagnosis) {
  const TraceRequest& request = recorded_.requests[index];
  const size_t reused = ReusedOf(index);
  Known& known = known_[request.name_space];
  const PromptSketch sketch = SketchOfTurns(request);
  *diagnosis =
      doctor->Look(ClientOf(request.name_space), sketch, DiagnosedOf(request, reused, shared));
  // The numbers say for certain what an earlier prompt or answer had.
  const bool unclear = diagnosis->cause == Cause::kNone || diagnosis->cause == Cause::kNotKept ||
                       (request.reuse && diagnosis->avoidable_tokens < kFoundTokensMin);
  if (unclear) {
    const bool kept = !request.reuse || shared < reused + kFoundTokensMin;
    *diagnosis = kept ? Diagnosis() : Diagnosis{Cause::kNotKept, shared - reused};
  }
  Finding finding{diagnosis->cause, diagnosis->avoidable_tokens};
  const bool differs = !unclear && diagnosis->cause != Cause::kNotAllowed;
  if (differs) finding.cure = CureFor(known, *diagnosis);
  if (!sketch.messages.empty()) {
    known.prompts.push_front(index);
    known.sketches.push_front(sketch);
    if (known.prompts.size() > Doctor::kPromptsMax) {
      known.prompts.pop_back();
      known.sketches.pop_back();
    }
  }
  return finding;
}

std::optional<Cure> FileDoctor::CureFor(const Known& known, const Diagnosis& diagnosis) const {
  if (diagnosis.earlier >= known.prompts.size()) return std::nullopt;
  const size_t earlier = known.prompts[diagnosis.earlier];
  const PromptSketch& sketch = known.sketches[diagnosis.earlier];
  const TraceRequest& request = recorded_.requests[earlier];
  const SketchMatch& match = diagnosis.match;
  const size_t messages = match.dropped + match.messages;
  size_t tokens = match.messages == 0 ? sketch.header_end : sketch.messages[messages - 1].end;
  if (match.continues) tokens = request.input_tokens + request.output_tokens;
  return Cure{earlier, tokens, match.tokens};
}

Result<size_t> FileDoctor::SavedBy(uint64_t name_space, Cause cause) const {
  std::vector<std::optional<Cure>> cures(recorded_.requests.size());
  SimOptions options = options_;
  if (cause == Cause::kNotKept) options.cache.ram_bytes_max *= kMoreMemory;
  for (size_t i = 0; i < cures.size(); ++i) {
    const bool counts =
        recorded_.requests[i].name_space == name_space && findings_[i].cause == cause;
    if (counts) cures[i] = findings_[i].cure;
  }
  std::vector<TraceRequest> cured = CuredRequests(recorded_.requests, cures);
  for (size_t i = 0; i < cured.size(); ++i) {
    if (findings_[i].cause == cause && cause == Cause::kNotAllowed) cured[i].reuse = true;
  }
  const auto reused = ReusedInReplay(cured, recorded_.at_ms, options);
  if (!reused) return tl::unexpected(reused.error());
  size_t before = 0;
  size_t after = 0;
  for (size_t i = 0; i < cured.size(); ++i) {
    if (recorded_.requests[i].name_space != name_space) continue;
    before += recorded_.requests[i].input_tokens - replayed_[i];
    after += cured[i].input_tokens - (*reused)[i];
  }
  return before - std::min(before, after);
}

Result<std::map<std::pair<std::string, std::string>, size_t>> FileDoctor::Saved() const {
  std::map<std::pair<uint64_t, Cause>, size_t> avoidable;
  for (size_t i = 0; i < findings_.size(); ++i) {
    if (findings_[i].cause == Cause::kNone) continue;
    avoidable[{recorded_.requests[i].name_space, findings_[i].cause}] +=
        findings_[i].avoidable_tokens;
  }
  std::vector<std::pair<size_t, std::pair<uint64_t, Cause>>> ranked;
  for (const auto& [which, tokens] : avoidable) ranked.emplace_back(tokens, which);
  std::sort(ranked.rbegin(), ranked.rend());
  ranked.resize(std::min(ranked.size(), kReplaysMax));
  std::map<std::pair<std::string, std::string>, size_t> saved;
  for (const auto& [tokens, which] : ranked) {
    const auto by_cure = SavedBy(which.first, which.second);
    if (!by_cure) return tl::unexpected(by_cure.error());
    saved[{ClientOf(which.first).agent, std::string(CauseName(which.second))}] = *by_cure;
  }
  return saved;
}

Result<Trace> ReadTraceFile(const std::string& path, std::string* notes) {
  std::ifstream file(path);
  if (!file) return Fail(ErrorCode::kNotFound, path + " cannot be read");
  auto trace = ReadTrace(file, TraceFormat::kAuto);
  if (!trace) {
    return Fail(ErrorCode::kInvalidArgument,
                path + ": " + trace.error().message +
                    "; expected a file that cairn serve --trace-out of this version wrote, or "
                    "another trace that docs/traces.md names");
  }
  if (trace->torn_lines > 0) {
    *notes += "cairn doctor: " + std::to_string(trace->torn_lines) +
              (trace->torn_lines == 1 ? " line of " : " lines of ") + path +
              (trace->torn_lines == 1 ? " is" : " are") + " cut, and left out\n";
  }
  return trace;
}

// Adds to each cause that was replayed what its cure saves. The minutes are in proportion.
void AddSaved(const std::map<std::pair<std::string, std::string>, size_t>& saved, Json* report) {
  for (Json& client : (*report)["clients"]) {
    for (Json& cause : client["causes"]) {
      const auto found = saved.find({client["agent"].text(), cause["cause"].text()});
      if (found == saved.end()) continue;
      const auto tokens = cause["tokens"].get<double>();
      const double minutes = cause["minutes"].get<double>();
      cause["saved_tokens"] = found->second;
      cause["saved_minutes"] =
          tokens > 0 ? minutes / tokens * static_cast<double>(found->second) : 0.0;
    }
  }
}

}  // namespace

Result<std::string> DoctorOfTraces(const std::vector<std::string>& paths,
                                   const ReplayOptions& options, std::string* notes) {
  SimOptions sim;
  const auto profile = FindModelProfile(options.model_profile);
  if (!profile) return tl::unexpected(profile.error());
  sim.profile = *profile;
  sim.cache.ram_bytes_max = options.cache_ram_mib << 20U;
  sim.slots = options.slots;
  Doctor doctor;
  std::map<std::pair<std::string, std::string>, size_t> saved;
  for (const std::string& path : paths) {
    const auto trace = ReadTraceFile(path, notes);
    if (!trace) return tl::unexpected(trace.error());
    FileDoctor file(path, *trace, sim);
    if (const Status looked = file.Look(&doctor); !looked) return tl::unexpected(looked.error());
    auto of_file = file.Saved();
    if (!of_file) return tl::unexpected(of_file.error());
    saved.merge(*of_file);
  }
  Json report = doctor.Report(0, 1, kNoTime);
  AddSaved(saved, &report);
  report["replay"] = {{"model_profile", options.model_profile},
                      {"cache_ram_mib", options.cache_ram_mib},
                      {"slots", options.slots}};
  return ToText(report);
}

}  // namespace cairn
