#include "api/record/request_log.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"

namespace cairn {
namespace {

std::string_view StateName(RequestRecord::State state) {
  switch (state) {
    case RequestRecord::State::kWaiting:
      return "waiting";
    case RequestRecord::State::kAnswering:
      return "answering";
    case RequestRecord::State::kDone:
      return "done";
    case RequestRecord::State::kCancelled:
      return "cancelled";
    case RequestRecord::State::kFailed:
      return "failed";
  }
  return "";
}

// Rounds milliseconds or seconds to a hundredth.
double Rounded(double time) {
  return std::round(time * 100) / 100;
}

std::string Text(double ms) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0f", ms);
  return text.data();
}

Json PlaceJson(const Explanation::Place& place) {
  Json told = {{"part", PartName(place.part)}, {"character", place.character}};
  if (place.message) {
    told["message"] = *place.message;
    told["role"] = RoleName(place.role);
  }
  return told;
}

Json ExplanationJson(const Explanation& explanation) {
  Json told = {{"reason", WhyName(explanation.why)}, {"sentence", explanation.sentence}};
  if (explanation.place) told["place"] = PlaceJson(*explanation.place);
  if (!explanation.prompt_excerpt.empty() || !explanation.stored_excerpt.empty()) {
    told["prompt_excerpt"] = explanation.prompt_excerpt;
    told["stored_excerpt"] = explanation.stored_excerpt;
  }
  if (!explanation.advice.empty()) told["advice"] = explanation.advice;
  return told;
}

Json VolatileJson(const std::vector<LateValue>& values) {
  Json told = Json::array();
  for (const LateValue& value : values) {
    told.push_back({{"message", value.message},
                    {"kept", ToValidUtf8(value.kept)},
                    {"sent", ToValidUtf8(value.sent)},
                    {"told_at", value.told_at}});
  }
  return told;
}

Json MessagesJson(const std::vector<Explanation::MessageTokens>& messages) {
  Json told = Json::array();
  for (const Explanation::MessageTokens& message : messages) {
    Json one = {{"index", message.message}, {"role", RoleName(message.role)}};
    if (message.tokens) {
      one["begin"] = message.tokens->begin;
      one["end"] = message.tokens->end;
    }
    told.push_back(std::move(one));
  }
  return told;
}

// Reports the end of an answer to its record, also when the generation is dropped before its end.
class RecordKeeper {
 public:
  explicit RecordKeeper(std::shared_ptr<RequestRecord> record) : record_(std::move(record)) {}
  ~RecordKeeper() { record_->OnEnd(RequestRecord::State::kCancelled, cost_); }
  RecordKeeper(const RecordKeeper&) = delete;
  RecordKeeper& operator=(const RecordKeeper&) = delete;

  void OnEvent(const GenerationEvent& event) {
    // Further answers may be to other prompts.
    if (event.answer > 0) return;
    if (event.report != nullptr) record_->OnReport(*event.report);
    if (event.kind == GenerationEvent::Kind::kFailed) {
      return record_->OnEnd(RequestRecord::State::kFailed, cost_);
    }
    cost_ = event.cost;
    if (event.kind != GenerationEvent::Kind::kDone) return;
    const bool cancelled = event.reason == FinishReason::kCancelled;
    record_->OnEnd(cancelled ? RequestRecord::State::kCancelled : RequestRecord::State::kDone,
                   cost_);
  }

 private:
  const std::shared_ptr<RequestRecord> record_;
  GenerationCost cost_;
};

}  // namespace

void AddExplanation(const std::shared_ptr<const RequestRecord>& record, Json* told) {
  if (record) (*told)["cairn"] = record->Told();
}

void Watch(std::shared_ptr<RequestRecord> record, Generation* generation) {
  auto keeper = std::make_shared<RecordKeeper>(std::move(record));
  generation->SetWatcher([keeper](const GenerationEvent& event) { keeper->OnEvent(event); });
}

ApiResult<size_t> RequestsLimit(const std::multimap<std::string, std::string>& params) {
  constexpr uint64_t kUsual = 100;
  const auto asked = params.find("limit");
  const auto limit = asked == params.end() ? std::optional(kUsual) : ParseNumber(asked->second);
  if (!limit || *limit == 0) return tl::unexpected(FieldError("limit", "a number above 0"));
  return static_cast<size_t>(*limit);
}

ApiResult<std::string> DoctorBody(const RequestLog& log,
                                  const std::multimap<std::string, std::string>& params,
                                  NamespaceId name_space, int64_t now_unix_s) {
  constexpr uint64_t kUsual = 24;
  const auto asked = params.find("hours");
  const auto hours = asked == params.end() ? std::optional(kUsual) : ParseNumber(asked->second);
  if (!hours || *hours == 0 || *hours > Doctor::kHoursMax) {
    return tl::unexpected(
        FieldError("hours", "a number from 1 to " + std::to_string(Doctor::kHoursMax)));
  }
  return ToText(log.doctor().Report(name_space, static_cast<size_t>(*hours), now_unix_s));
}

Json MergedRequests(const Json& a, const Json& b, size_t limit) {
  Json merged = Json::array();
  size_t next_a = 0;
  size_t next_b = 0;
  while (merged.size() < limit && (next_a < a.size() || next_b < b.size())) {
    const bool takes_a = next_b == b.size() ||
                         (next_a < a.size() &&
                          a[next_a]["begun"].get<int64_t>() >= b[next_b]["begun"].get<int64_t>());
    merged.push_back(takes_a ? a[next_a++] : b[next_b++]);
  }
  return merged;
}

ApiResult<std::string> RequestsBody(const RequestLog& log,
                                    const std::multimap<std::string, std::string>& params,
                                    NamespaceId name_space, const std::vector<Json>& refused) {
  const auto limit = RequestsLimit(params);
  if (!limit) return tl::unexpected(limit.error());
  Json listed = log.List(name_space, *limit);
  for (const Json& list : refused) {
    listed["requests"] = MergedRequests(listed["requests"], list, *limit);
  }
  return ToText(listed);
}

RequestRecord::RequestRecord(RequestLog* log, Begun begun, ExplainedPrompt prompt,
                             const Engine* engine)
    : log_(log),
      mutex_(&log->mutex_),
      begun_(std::move(begun)),
      engine_(engine),
      loosened_(prompt.loosened),
      left_out_(prompt.left_out),
      cache_key_(prompt.cache_key),
      marked_tokens_(prompt.marked_tokens),
      late_values_(prompt.late_values),
      prompt_(std::move(prompt)) {}

void RequestRecord::OnReport(const ReuseReport& report) {
  ExplainedPrompt prompt;
  {
    const MutexLock lock(*mutex_);
    if (report_) return;
    report_ = report;
    report_->stored_next.clear();
    state_ = State::kAnswering;
    prompt = std::move(prompt_);
    prompt_ = {};
  }
  Explanation explanation = Explain(report, prompt, *engine_);
  const Diagnosis diagnosis =
      log_->doctor_.Look(Client(), SketchOf(prompt, explanation),
                         {report.prompt_tokens, report.reused_tokens, explanation.why,
                          explanation.place, explanation.volatile_pattern});
  std::optional<std::string> hint;
  {
    const MutexLock lock(*mutex_);
    log_->mutex_.AssertHeld();
    ++log_->whys_[explanation.why];
    hint = log_->hints_.Note(begun_.name_space, begun_.id, explanation);
    explanation_ = std::move(explanation);
    diagnosis_ = diagnosis;
  }
  if (hint && log_->hint_log_) log_->hint_log_(LogLevel::kInfo, *hint);
}

void RequestRecord::OnEnd(State state, const GenerationCost& cost) {
  std::string line;
  Json fields;
  // prompt of a request that never got a slot; freed outside the lock, as it may be large
  ExplainedPrompt unexplained;
  {
    const MutexLock lock(*mutex_);
    if (state_ != State::kWaiting && state_ != State::kAnswering) return;
    unexplained = std::exchange(prompt_, {});
    state_ = state;
    cost_ = cost;
    if (report_) {
      log_->doctor_.Note(
          Client(), {begun_.id, begun_.begun_unix_s, report_->prompt_tokens, report_->reused_tokens,
                     cost.prompt_ms, diagnosis_, &explanation_});
    }
    if (!log_->log_) return;
    line = Line();
    fields = Fields();
  }
  log_->log_(line, fields);
}

Json RequestRecord::ReportJson(Detail detail) const {
  const ReuseReport& report = *report_;
  Json told = {{"prompt_tokens", report.prompt_tokens},
               {"reused_tokens", report.reused_tokens},
               {"computed_tokens", report.prompt_tokens - report.reused_tokens},
               {"live_tokens", report.live_tokens},
               {"ram_tokens", report.ram_tokens},
               {"disk_tokens", report.disk_tokens},
               {"prefetched_tokens", report.prefetched_tokens},
               {"shared_tokens", report.shared_tokens},
               {"path", PathName(report.path)},
               {"restored_bytes", report.restored_bytes},
               {"restore_ms", Rounded(report.restore_ms)}};
  if (report.checkpoint) {
    told["checkpoint"] = {{"position", report.checkpoint->position},
                          {"class", CheckpointClassName(report.checkpoint->checkpoint_class)}};
    if (report.checkpoint->age_ms)
      told["checkpoint"]["age_ms"] = std::round(*report.checkpoint->age_ms);
  }
  if (!cache_key_.empty()) {
    told["prompt_cache_key"] = cache_key_;
    told["same_key_slot"] = report.same_key_slot;
  }
  if (marked_tokens_ > 0) {
    told["marked_tokens"] = marked_tokens_;
    told["kept_tokens"] = cost_.kept_tokens;
  }
  if (detail == Detail::kAll && !explanation_.messages.empty()) {
    told["messages"] = MessagesJson(explanation_.messages);
  }
  if (detail == Detail::kAll && !explanation_.media.empty()) told["media"] = MediaJson();
  if (!late_values_.empty()) told["volatile"] = VolatileJson(late_values_);
  told["explanation"] = ExplanationJson(explanation_);
  return told;
}

Json RequestRecord::MediaJson() const {
  Json told = Json::array();
  for (const Explanation::MediumTokens& medium : explanation_.media) {
    Json one = {{"kind", MediumKindName(medium.kind)},
                {"part", medium.part},
                {"begin", medium.tokens.begin},
                {"end", medium.tokens.end}};
    if (medium.message) one["message"] = *medium.message;
    const MediumPreview& preview = medium.preview;
    if (medium.kind == MediumKind::kAudio) {
      one["seconds"] = Rounded(preview.seconds);
    } else {
      one["width"] = preview.width;
      one["height"] = preview.height;
    }
    if (!preview.thumbnail.expired()) {
      one["thumbnail"] =
          "/cairn/requests/" + begun_.id + "/thumbnails/" + std::to_string(told.size());
    }
    told.push_back(std::move(one));
  }
  return told;
}

Json RequestRecord::ToJson(Detail detail) const {
  Json told = {{"id", begun_.id},
               {"api", begun_.api},
               {"begun", begun_.begun_unix_s},
               {"state", StateName(state_)}};
  if (report_) told["reuse"] = ReportJson(detail);
  if (state_ == State::kWaiting || state_ == State::kAnswering) return told;
  told["queue_ms"] = Rounded(cost_.queue_ms);
  told["prompt_ms"] = Rounded(cost_.prompt_ms);
  told["generated_tokens"] = cost_.generated_tokens;
  told["generated_ms"] = Rounded(cost_.generated_ms);
  if (cost_.drafted_tokens > 0) {
    told["drafted_tokens"] = cost_.drafted_tokens;
    told["accepted_tokens"] = cost_.accepted_tokens;
  }
  return told;
}

Json RequestRecord::Told() const {
  const MutexLock lock(*mutex_);
  Json told = explains_ && report_ ? ReportJson(Detail::kAll) : Json(nullptr);
  if (!loosened_.empty()) told["loosened"] = loosened_;
  if (!left_out_.empty()) told["left_out"] = left_out_;
  if (!late_values_.empty()) told["volatile"] = VolatileJson(late_values_);
  return told;
}

bool RequestRecord::Tells(bool explain) {
  const MutexLock lock(*mutex_);
  explains_ = explain;
  return explain || !loosened_.empty() || !left_out_.empty() || !late_values_.empty();
}

std::vector<std::pair<std::string, std::string>> RequestRecord::Headers() const {
  const MutexLock lock(*mutex_);
  if (!report_) return {};
  std::vector<std::pair<std::string, std::string>> headers = {
      {"x-cairn-prompt-tokens", std::to_string(report_->prompt_tokens)},
      {"x-cairn-reused-tokens", std::to_string(report_->reused_tokens)},
      {"x-cairn-prefetched-tokens", std::to_string(report_->prefetched_tokens)},
      {"x-cairn-path", std::string(PathName(report_->path))},
      {"x-cairn-reason", std::string(WhyName(explanation_.why))}};
  if (explanation_.place && explanation_.place->message) {
    headers.emplace_back("x-cairn-diverged-at",
                         "messages[" + std::to_string(*explanation_.place->message) +
                             "]:" + std::to_string(explanation_.place->character));
  }
  return headers;
}

// Contains no text of a prompt: other people than the clients read logs.
std::string RequestRecord::Line() const {
  std::string line = begun_.id + " " + std::string(StateName(state_));
  if (report_) {
    line += ": " + std::to_string(report_->prompt_tokens) + " prompt tokens, " +
            std::to_string(report_->reused_tokens) + " reused (" +
            std::string(PathName(report_->path)) + ")";
    if (report_->prefetched_tokens > 0) {
      line += ", " + std::to_string(report_->prefetched_tokens) + " of them prefetched";
    }
    line += ", first token after " + Text(cost_.queue_ms + cost_.prompt_ms) + " ms";
  }
  line += ", " + std::to_string(cost_.generated_tokens) + " tokens generated in " +
          Text(cost_.generated_ms) + " ms";
  if (cost_.drafted_tokens > 0) {
    line += ", " + std::to_string(cost_.accepted_tokens) + " of " +
            std::to_string(cost_.drafted_tokens) + " drafted tokens accepted";
  }
  if (report_ && explanation_.why != Explanation::Why::kAllKnown) {
    line += ". " + explanation_.sentence;
  }
  return line;
}

// The record as in GET /cairn/requests, without the excerpts and the advice, which may quote them.
Json RequestRecord::Fields() const {
  Json fields = ToJson(Detail::kWithoutMessages);
  if (!report_) return fields;
  Json& explanation = fields["reuse"]["explanation"];
  for (const char* text : {"prompt_excerpt", "stored_excerpt", "advice"}) explanation.erase(text);
  fields["reuse"].erase("volatile");
  return fields;
}

std::shared_ptr<RequestRecord> RequestLog::Begin(RequestRecord::Begun begun, ExplainedPrompt prompt,
                                                 const Engine* engine) {
  std::shared_ptr<RequestRecord> record(
      new RequestRecord(this, std::move(begun), std::move(prompt), engine));
  const MutexLock lock(mutex_);
  records_.push_front(record);
  if (records_.size() > records_max_) records_.pop_back();
  return record;
}

std::map<Explanation::Why, uint64_t> RequestLog::whys() const {
  const MutexLock lock(mutex_);
  return whys_;
}

Json RequestLog::List(NamespaceId name_space, size_t limit) const {
  const MutexLock lock(mutex_);
  Json requests = Json::array();
  for (const auto& record : records_) {
    if (requests.size() == limit) break;
    if (record->begun_.name_space != name_space) continue;
    record->mutex_->AssertHeld();
    requests.push_back(record->ToJson(RequestRecord::Detail::kWithoutMessages));
  }
  return {{"requests", std::move(requests)}};
}

ApiResult<const RequestRecord*> RequestLog::FindRecord(std::string_view id,
                                                       NamespaceId name_space) const {
  for (const auto& record : records_) {
    if (record->begun_.id == id && record->begun_.name_space == name_space) return record.get();
  }
  return tl::unexpected(
      ToApiError({ErrorCode::kNotFound, "no request '" + std::string(id) + "' is among the last " +
                                            std::to_string(records_max_)}));
}

ApiResult<std::string> RequestLog::Find(std::string_view id, NamespaceId name_space) const {
  const MutexLock lock(mutex_);
  const auto record = FindRecord(id, name_space);
  if (!record) return tl::unexpected(record.error());
  (*record)->mutex_->AssertHeld();
  return ToText((*record)->ToJson(RequestRecord::Detail::kAll));
}

ApiResult<std::shared_ptr<const Bytes>> RequestLog::FindThumbnail(std::string_view id,
                                                                  std::string_view index,
                                                                  NamespaceId name_space) const {
  const MutexLock lock(mutex_);
  const auto record = FindRecord(id, name_space);
  if (!record) return tl::unexpected(record.error());
  const auto number = ParseNumber(index);
  (*record)->mutex_->AssertHeld();
  const auto& media = (*record)->explanation_.media;
  if (number && *number < media.size()) {
    if (auto thumbnail = media[*number].preview.thumbnail.lock()) return thumbnail;
  }
  return tl::unexpected(
      ToApiError({ErrorCode::kNotFound, "request '" + std::string(id) + "' has no thumbnail '" +
                                            std::string(index) + "'"}));
}

}  // namespace cairn
