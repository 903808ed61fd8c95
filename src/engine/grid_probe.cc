#include "engine/grid_probe.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace cairn {
namespace {

constexpr std::array<size_t, 6> kCandidates = {1, 16, 32, 64, 128, 256};
// Shorter prompts would not fill the blocks that kernels work in.
constexpr size_t kPromptTokensMin = 3 * kUsualGridTokens;
// How often a prompt is cut: at one multiple in three, in two of three, at every one. Kernels may
// be chosen by the size of a piece.
constexpr int kDensityMax = 3;

class Prober {
 public:
  Prober(Engine* engine, SeqId seq, const Clock& clock, const GridProbeOptions& options)
      : engine_(engine),
        seq_(seq),
        clock_(clock),
        deadline_ms_(clock.NowMs() + options.ms_max),
        prompts_(options.find_smallest ? 4 : 2),
        density_min_(options.find_smallest ? 1 : 2),
        progress_(options.progress) {}

  // Whether some prompt gives other logits when it is cut at multiples of `grid`.
  // What is tried here takes [share_begin, share_begin + share] of the progress.
  bool Disproves(size_t grid, float share_begin, float share) {
    const auto prompts_float = static_cast<float>(prompts_);
    for (int i = 0; i < prompts_ && !out_of_time(); ++i) {
      if (progress_) progress_(share_begin + share * static_cast<float>(i) / prompts_float);
      const size_t length = std::max(3 * grid, kPromptTokensMin) + 1 + Random(grid + 31);
      const Tokens prompt = RandomPrompt(length);
      const std::vector<float> whole = Read(prompt, grid, 0);
      for (int density = density_min_; density <= kDensityMax && !out_of_time(); ++density) {
        if (!SameBits(whole, Read(prompt, grid, density))) return true;
      }
    }
    return false;
  }
  bool out_of_time() const { return failed_ || clock_.NowMs() > deadline_ms_; }
  size_t tokens_read() const { return tokens_read_; }

 private:
  size_t Random(size_t below) { return below == 0 ? 0 : random_() % below; }

  Tokens RandomPrompt(size_t tokens) {
    const size_t vocab = std::max<size_t>(1, engine_->info().vocab_size);
    Tokens prompt(std::min(tokens, engine_->context_tokens() - 1));
    for (Token& token : prompt) token = static_cast<Token>(Random(vocab));
    return prompt;
  }

  // Reads `prompt` cut at multiples of `grid`, the oftener the larger `density` (0: only before the
  // last piece, kDensityMax: everywhere). Returns the last logits.
  std::vector<float> Read(const Tokens& prompt, size_t grid, int density) {
    engine_->Clear(seq_);
    const size_t last_cut = (prompt.size() - 1) / grid * grid;
    const size_t piece_max = std::max(grid, engine_->piece_tokens_max() / grid * grid);
    size_t begin = 0;
    while (begin < prompt.size() && !failed_) {
      size_t end = begin;
      do {
        end += grid;
      } while (end < last_cut && end - begin < piece_max &&
               static_cast<int>(Random(kDensityMax)) >= density);
      end = begin >= last_cut ? prompt.size() : std::min(end, last_cut);
      const TokenSpan piece = TokenSpan(prompt).subspan(begin, end - begin);
      failed_ = !engine_->Decode(seq_, begin, piece).has_value();
      tokens_read_ += piece.size();
      begin = end;
    }
    return {engine_->Logits().begin(), engine_->Logits().end()};
  }

  static bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }

  Engine* const engine_;
  const SeqId seq_;
  const Clock& clock_;
  const double deadline_ms_;
  const int prompts_;
  const int density_min_;
  const std::function<void(float)> progress_;
  std::mt19937_64 random_{20260817};  // the same prompts at every start
  size_t tokens_read_ = 0;
  bool failed_ = false;
};

}  // namespace

GridProbe ProbeGrid(Engine* engine, SeqId seq, const Clock& clock,
                    const GridProbeOptions& options) {
  GridProbe probe;
  Prober prober(engine, seq, clock, options);
  constexpr float kShare = 1.0F / static_cast<float>(kCandidates.size());
  float share_begin = -kShare;
  for (const size_t grid : kCandidates) {
    share_begin += kShare;
    if (grid < kUsualGridTokens && !options.find_smallest) continue;
    if (grid > engine->piece_tokens_max() || 4 * grid >= engine->context_tokens()) {
      // Too large to try here, so nothing is known of it.
      probe.finished = false;
      break;
    }
    if (prober.Disproves(grid, share_begin, kShare)) continue;
    probe.finished = !prober.out_of_time();
    if (probe.finished) probe.grid_tokens = grid;
    break;
  }
  probe.tokens_read = prober.tokens_read();
  engine->Clear(seq);
  return probe;
}

}  // namespace cairn
