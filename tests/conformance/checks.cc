#include "conformance/checks.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <vector>

#include "conformance/model_bench.h"
#include "engine/llama/llama_engine.h"
#include "tree/prompt_cuts.h"

namespace cairn::conformance {
namespace {

constexpr llama_pos kSnapshotPromptTokens = 230;
constexpr llama_pos kAnswerTokens = 8;
constexpr int kResumes = 12;
// The length of resumed prompts: long enough that a window's cells are reused.
constexpr size_t kResumePromptTokensMax = 448;
constexpr size_t kGridTokensMax = 256;                       // the largest that the probe tries
constexpr size_t kContextTokens = 4 * kGridTokensMax + 256;  // the probe needs over four of them
constexpr SeqId kCheckSeq = 0;

std::string FileName(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// LlamaEngine detects learned positions by the lack of rope; starcoder is reported to have rope.
LlamaOptions OptionsFor(const std::string& model_path, size_t ubatch_tokens) {
  LlamaOptions options;
  options.model_path = model_path;
  options.context_tokens = kContextTokens;
  for (const char* const learned : {"gpt2-", "mpt-", "starcoder-"}) {
    if (FileName(model_path).starts_with(learned)) options.context_tokens = kTrainedTokens;
  }
  options.ubatch_tokens = ubatch_tokens;
  options.threads = 1;
  options.flash_attention = "on";
  options.log = [](LogLevel /*level*/, std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  };
  return options;
}

std::string GridText(const MemoryTraits& traits) {
  if (!traits.grid_measured) return "not found";
  return traits.grid_tokens == 0 ? "none" : std::to_string(traits.grid_tokens);
}

std::set<llama_pos> SnapshotPositions(llama_pos window) {
  std::set<llama_pos> positions = {kChunkTokens, 100, 2 * kChunkTokens, 3 * kChunkTokens};
  if (window > 0 && window + 1 < kSnapshotPromptTokens) {
    positions.insert({window - 1, window, window + 1});
  }
  return positions;
}

std::optional<double> SnapshotAt(ModelBench* bench, const PromptTokens& prompt,
                                 llama_pos position) {
  llama_memory_clear(bench->memory(), true);
  bench->Read(prompt, 0, position);
  const Blob snapshot = bench->GetState(kCheckSeq, kPartial);
  const LogitRows wanted = bench->Read(prompt, position, kSnapshotPromptTokens);
  bench->ReadSingly(prompt, kSnapshotPromptTokens, kSnapshotPromptTokens + kAnswerTokens);
  bench->SetState(kCheckSeq, snapshot, kPartial);
  bench->Cut(kCheckSeq, position);
  return Difference(wanted, bench->Read(prompt, position, kSnapshotPromptTokens));
}

// Returns the difference between two cold runs of the same prompt, without any restore.
std::optional<double> ColdRunsDifference(ModelBench* bench, const PromptTokens& prompt) {
  llama_memory_clear(bench->memory(), true);
  const LogitRows first = bench->Read(prompt, 0, kSnapshotPromptTokens);
  llama_memory_clear(bench->memory(), true);
  return Difference(first, bench->Read(prompt, 0, kSnapshotPromptTokens));
}

// Resumer: plays resumes on one engine. A cold and a resumed run use the same chunks for the rest
// of a prompt; before that, each chooses its chunks freely among the cuts.
class Resumer {
 public:
  Resumer(LlamaEngine* engine, size_t grid) : engine_(engine), grid_(grid) {}

  // Returns the difference to a cold run, if there is one. Errors are the engine's.
  // `boundaries`: the prompt has messages, and resumes at their boundaries too.
  Result<std::optional<double>> Resume(bool by_cut, bool boundaries) {
    const size_t room = std::min(std::max(kResumePromptTokensMax, 7 * grid_ / 2),
                                 engine_->context_tokens() - kAnswerTokens);
    const Tokens prompt = RandomPrompt(grid_ + 2 + Random(room - grid_ - 2));
    const PromptCuts cuts(grid_, prompt.size(), boundaries ? Boundaries(prompt.size()) : Ends());
    const size_t position = std::max(cuts.AtOrBefore(1 + Random(prompt.size() - 1)), cuts.After(0));
    engine_->Clear(kCheckSeq);
    if (Status read = Read(prompt, cuts, 0, prompt.size()); !read)
      return tl::unexpected(read.error());
    const LogitRows cold = Logits();

    engine_->Clear(kCheckSeq);
    if (Status read = Read(prompt, cuts, 0, position); !read) return tl::unexpected(read.error());
    const auto snapshot = engine_->TakeSnapshot(kCheckSeq);
    if (!snapshot) return tl::unexpected(snapshot.error());
    if (Status left = ReadSomethingElse(position, room); !left) return tl::unexpected(left.error());
    const Status back = by_cut && engine_->CanTruncate(kCheckSeq, position)
                            ? engine_->Truncate(kCheckSeq, position)
                            : engine_->Restore(kCheckSeq, position, *snapshot);
    if (!back) return tl::unexpected(back.error());
    if (Status read = Read(prompt, cuts, position, prompt.size()); !read) {
      return tl::unexpected(read.error());
    }
    return Difference(cold, Logits());
  }

 private:
  size_t Random(size_t below) { return random_() % below; }

  Tokens RandomPrompt(size_t tokens) {
    Tokens prompt(tokens);
    for (Token& token : prompt) token = static_cast<Token>(Random(engine_->info().vocab_size));
    return prompt;
  }

  using Ends = std::vector<size_t>;
  Ends Boundaries(size_t tokens) {
    Ends boundaries;
    for (size_t at = 8 + Random(2 * grid_); at < tokens; at += 8 + Random(2 * grid_)) {
      boundaries.push_back(at);
    }
    return boundaries;
  }

  // Prefills in chunks that end at random cuts, and always at boundaries and at the last cut.
  Status Read(const Tokens& tokens, const PromptCuts& cuts, size_t begin, size_t end) {
    while (begin < end) {
      size_t most = std::min({begin + engine_->chunk_tokens_max(), cuts.BoundaryAfter(begin), end});
      const size_t last = cuts.AtOrBefore(cuts.BoundaryAfter(begin) - 1);
      if (begin < last) most = std::min(most, last);
      size_t next = std::min(cuts.After(begin), most);
      while (next < most && cuts.After(next) <= most && Random(2) == 0) next = cuts.After(next);
      const TokenSpan chunk = TokenSpan(tokens).subspan(begin, next - begin);
      if (Status decoded = engine_->Decode(kCheckSeq, begin, chunk); !decoded) return decoded;
      begin = next;
    }
    return {};
  }

  // Prefills the rest of another prompt from `position` on, and decodes a short answer.
  Status ReadSomethingElse(size_t position, size_t room) {
    const size_t end = position + 1 + Random(room - position);
    const Tokens other = RandomPrompt(end + kAnswerTokens);
    if (Status read = Read(other, {1, other.size()}, position, end); !read) return read;
    for (size_t at = end; at < other.size(); ++at) {
      const TokenSpan token = TokenSpan(other).subspan(at, 1);
      if (Status decoded = engine_->Decode(kCheckSeq, at, token); !decoded) return decoded;
    }
    return {};
  }

  LogitRows Logits() const { return {engine_->Logits().begin(), engine_->Logits().end()}; }

  LlamaEngine* const engine_;
  const size_t grid_;
  std::mt19937_64 random_{12};
};

}  // namespace

std::string CheckMemoryAndGrid(const std::string& model_path, double probe_ms_max) {
  // With chunks of at most 256 tokens, a grid of 256 would allow only one way to cut.
  LlamaOptions options = OptionsFor(model_path, 2 * kGridTokensMax);
  options.find_smallest_grid = true;
  options.grid_probe_ms_max = probe_ms_max;
  if (probe_ms_max == 0) options.grid_tokens = kChunkTokens;
  const auto engine = LlamaEngine::Load(options);
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    const bool kind = engine.error().code == ErrorCode::kUnsupported;
    return kind ? "none\t-" : "refused: load\t-";
  }
  const MemoryTraits& traits = (*engine)->traits();
  return std::string(MemoryClassName(traits.memory_class)) + "\t" + GridText(traits);
}

std::string CheckSnapshot(const std::string& model_path) {
  const auto bench = ModelBench::Load(model_path, 1);
  if (!bench) return "refused: " + bench.error().message;
  if (!(*bench)->has_memory()) return "-";
  const PromptTokens prompt = (*bench)->RandomPrompt(kSnapshotPromptTokens + kAnswerTokens);
  const auto cold = ColdRunsDifference(bench->get(), prompt);
  if (!(*bench)->refused().empty()) return "refused: " + (*bench)->refused();
  if (cold) return "no two cold runs agree: off by " + DifferenceText(*cold);
  for (const llama_pos position : SnapshotPositions((*bench)->window_tokens())) {
    const std::optional<double> difference = SnapshotAt(bench->get(), prompt, position);
    if (!(*bench)->refused().empty()) return "refused: " + (*bench)->refused();
    std::fprintf(stderr, "snapshot at %d: off by %g\n", position, difference.value_or(0));
    if (difference) return "differs by " + DifferenceText(*difference);
  }
  return "exact";
}

std::string CheckExactness(const std::string& model_path, size_t grid_tokens) {
  // The chunk limit is twice the grid, so that cold and resumed runs can cut differently.
  LlamaOptions options = OptionsFor(model_path, 2 * grid_tokens);
  options.grid_tokens = grid_tokens;
  const auto engine = LlamaEngine::Load(options);
  if (!engine) return "-";
  Resumer resumer(engine->get(), grid_tokens);
  const bool at_messages = (*engine)->traits().exact_at_messages;
  int exact = 0;
  double worst = 0;
  for (int i = 0; i < kResumes; ++i) {
    const auto difference = resumer.Resume(i % 2 == 1, at_messages && i / 2 % 2 == 1);
    if (!difference) {
      std::fprintf(stderr, "%s\n", difference.error().message.c_str());
      return "refused: resume";
    }
    std::fprintf(stderr, "resume %d: off by %g\n", i, difference->value_or(0));
    if (!*difference) ++exact;
    worst = std::max(worst, difference->value_or(0));
  }
  const std::string share = std::to_string(exact) + " of " + std::to_string(kResumes);
  return exact == kResumes ? share : share + ", off by " + DifferenceText(worst);
}

}  // namespace cairn::conformance
