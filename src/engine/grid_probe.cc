#include "engine/grid_probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

namespace cairn {
namespace {

constexpr std::array<size_t, 6> kCandidates = {1, 16, 32, 64, 128, 256};
// Shorter prompts would not fill the blocks that kernels work in.
constexpr size_t kPromptTokensMin = 3 * kUsualGridTokens;
// How densely a prompt is cut: at one multiple in three, at two of three, at every one. Kernels may
// be chosen by the size of a chunk.
constexpr int kDensityMax = 3;
// The least distance of two boundaries.
constexpr size_t kBoundaryStepMin = 8;

}  // namespace

// For each candidate several prompts, and each of them uncut (density 0) and cut (at each density);
// then as many prompts with boundaries for the grid that was found.
class GridSearch::Steps {
 public:
  Steps(Engine* engine, SeqId seq, const GridProbeOptions& options)
      : engine_(engine),
        seq_(seq),
        prompts_(options.find_smallest ? 4 : 2),
        density_min_(options.find_smallest ? 1 : 2),
        tokens_min_(std::max(kPromptTokensMin,
                             engine->traits().on_device ? engine->chunk_tokens_max() : 0)),
        progress_(options.progress) {
    while (!options.find_smallest && kCandidates[candidate_] < kUsualGridTokens) ++candidate_;
    first_candidate_ = candidate_;
    BeginCandidate();
  }

  bool Step() {
    if (done_) return false;
    if (begin_ == 0) BeginRun();
    DecodeChunk();
    if (!done_ && begin_ == prompt_.size()) EndRun();
    return true;
  }

  GridProbe result() const {
    const bool finished = done_ && !unfinished_;
    return {finished ? found_ : 0, finished && at_messages_, finished, tokens_decoded_};
  }

 private:
  size_t grid() const { return kCandidates[candidate_]; }
  size_t Random(size_t below) { return below == 0 ? 0 : random_() % below; }

  void EndUnfinished() { done_ = unfinished_ = true; }

  void BeginCandidate() {
    prompt_index_ = 0;
    if (candidate_ == kCandidates.size()) {
      done_ = true;
    } else if (grid() > engine_->chunk_tokens_max() || 4 * grid() >= engine_->context_tokens()) {
      // Too large to try here: unknown if nothing was tried, else no grid that can be used here.
      done_ = true;
      unfinished_ = candidate_ == first_candidate_;
    } else {
      BeginPrompt();
    }
  }

  void BeginPrompt() {
    if (progress_) {
      const float of_candidate = static_cast<float>(prompt_index_) / static_cast<float>(prompts_);
      progress_((static_cast<float>(candidate_) + of_candidate) /
                static_cast<float>(kCandidates.size()));
    }
    const size_t length = std::max(3 * grid(), tokens_min_) + 1 + Random(grid() + 31);
    const size_t vocab = std::max<size_t>(1, engine_->info().vocab_size);
    prompt_.resize(std::min(length, engine_->context_tokens() - 1));
    for (Token& token : prompt_) token = static_cast<Token>(Random(vocab));
    density_ = 0;
    begin_ = 0;
    boundaries_ = {0};
    while (found_ > 0) {
      const size_t boundary = boundaries_.back() + kBoundaryStepMin + Random(2 * grid());
      if (boundary >= prompt_.size()) break;
      boundaries_.push_back(boundary);
    }
  }

  void BeginRun() { engine_->Clear(seq_); }

  // The larger `density_`, the more cuts (0: only before the last chunk, kDensityMax: everywhere).
  void DecodeChunk() {
    const auto next = std::upper_bound(boundaries_.begin(), boundaries_.end(), begin_);
    const size_t origin = *(next - 1);
    const size_t segment_end = next == boundaries_.end() ? prompt_.size() : *next;
    const size_t last_cut = origin + (segment_end - origin - 1) / grid() * grid();
    const size_t chunk_max = std::max(grid(), engine_->chunk_tokens_max() / grid() * grid());
    size_t end = begin_;
    do {
      end += grid();
    } while (end < last_cut && end - begin_ < chunk_max &&
             static_cast<int>(Random(kDensityMax)) >= density_);
    end = begin_ >= last_cut ? segment_end : std::min(end, last_cut);
    const TokenSpan chunk = TokenSpan(prompt_).subspan(begin_, end - begin_);
    if (!engine_->Decode(seq_, begin_, chunk)) return EndUnfinished();
    tokens_decoded_ += chunk.size();
    begin_ = end;
  }

  void EndRun() {
    const std::vector<float> logits(engine_->Logits().begin(), engine_->Logits().end());
    begin_ = 0;
    if (density_ == 0) {
      whole_ = logits;
      density_ = density_min_;
    } else if (!SameBits(whole_, logits)) {
      if (found_ > 0) {
        done_ = true;  // the grid holds, but not between boundaries
        return;
      }
      ++candidate_;
      BeginCandidate();
    } else if (++density_ > kDensityMax) {
      EndPrompt();
    }
  }

  void EndPrompt() {
    if (++prompt_index_ < prompts_) return BeginPrompt();
    prompt_index_ = 0;
    at_messages_ = found_ > 0;
    found_ = grid();
    if (at_messages_) {
      done_ = true;
    } else {
      BeginPrompt();
    }
  }

  Engine* const engine_;
  const SeqId seq_;
  const int prompts_;
  const int density_min_;
  const size_t tokens_min_;
  const std::function<void(float)> progress_;
  std::mt19937_64 random_{20260817};  // the same prompts at every start
  size_t candidate_ = 0;
  size_t first_candidate_ = 0;
  int prompt_index_ = 0;
  Tokens prompt_;
  int density_ = 0;
  size_t begin_ = 0;  // of the next chunk
  std::vector<float> whole_;
  bool done_ = false;
  bool unfinished_ = false;
  size_t found_ = 0;
  bool at_messages_ = false;
  std::vector<size_t> boundaries_ = {0};  // of the prompt; the first is its beginning
  size_t tokens_decoded_ = 0;
};

GridSearch::GridSearch(Engine* engine, SeqId seq, const GridProbeOptions& options)
    : steps_(std::make_unique<Steps>(engine, seq, options)) {}

GridSearch::~GridSearch() = default;

bool GridSearch::Step() {
  return steps_->Step();
}

GridProbe GridSearch::result() const {
  return steps_->result();
}

GridProbe ProbeGrid(Engine* engine, SeqId seq, const Clock& clock,
                    const GridProbeOptions& options) {
  GridSearch search(engine, seq, options);
  const double deadline_ms = clock.NowMs() + options.ms_max;
  while (clock.NowMs() <= deadline_ms && search.Step()) {
  }
  engine->Clear(seq);
  return search.result();
}

}  // namespace cairn
