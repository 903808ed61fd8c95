// ModelBench: a model and a context straight on libllama, for checks of what libllama itself does.
// The table of architectures must be right before any code of ours may lean on it.

#ifndef CAIRN_TESTS_CONFORMANCE_MODEL_BENCH_H_
#define CAIRN_TESTS_CONFORMANCE_MODEL_BENCH_H_

#include <llama.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/result.h"

namespace cairn::conformance {

using Blob = std::vector<uint8_t>;
using LogitRows = std::vector<float>;  // of several pieces, one after the other
using PromptTokens = std::vector<llama_token>;

constexpr llama_state_seq_flags kWhole = LLAMA_STATE_SEQ_FLAGS_NONE;
constexpr llama_state_seq_flags kPartial = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

// The made models were "trained" on so many tokens, and some of them learned their positions:
// libllama aborts beyond. Prompts are shorter.
constexpr uint32_t kTrainedTokens = 256;
constexpr llama_pos kChunkTokens = 64;
// Of every state of a sequence, before anything that the memory writes: a mark and the sequence.
constexpr size_t kStateHeaderBytes = 8;

class ModelBench {
 public:
  // Flash attention is on. `unified`: all sequences in one memory; else one stream each. Either
  // way there is room for kTrainedTokens in each. kUnsupported says what libllama refused.
  static Result<std::unique_ptr<ModelBench>> Load(const std::string& path, uint32_t sequences,
                                                  bool unified = true);

  // False: a model without a memory, as those that write by diffusion.
  bool has_memory() const { return memory() != nullptr; }
  llama_memory_t memory() const { return llama_get_memory(context_.get()); }
  llama_pos window_tokens() const { return llama_model_n_swa(model_.get()); }

  PromptTokens RandomPrompt(size_t tokens);

  // The first call that libllama refused, in one word; empty: none. After one, the calls below do
  // nothing.
  const std::string& refused() const { return refused_; }

  // Reads [begin, end) of `tokens` into `seq`, cut at multiples of kChunkTokens. Returns the last
  // logits of every piece. The cells of a window are put in order before each, as LlamaEngine
  // does (docs/decisions/0008-window-order.md).
  LogitRows Read(const PromptTokens& tokens, llama_pos begin, llama_pos end, llama_seq_id seq = 0);
  // Reads [begin, end) into sequence 0 token by token, as an answer is.
  void ReadSingly(const PromptTokens& tokens, llama_pos begin, llama_pos end);
  size_t StateSize(llama_seq_id seq, llama_state_seq_flags flags) const;
  Blob GetState(llama_seq_id seq, llama_state_seq_flags flags);
  void SetState(llama_seq_id seq, const Blob& state, llama_state_seq_flags flags);
  // Drops everything at and after `position`.
  void Cut(llama_seq_id seq, llama_pos position);
  void Clear(llama_seq_id seq) { Cut(seq, -1); }
  // Shares the cells of [begin, end) of one sequence with another. Negative: from the first, to the
  // last. Where libllama does not support it, the process is gone.
  void CopyRange(llama_seq_id from, llama_seq_id to, llama_pos begin, llama_pos end);

 private:
  void Decode(const PromptTokens& tokens, llama_pos begin, llama_pos end, llama_seq_id seq);
  // Not every model that keeps a window says so: deepseek4 does not. But a state that cannot be
  // rolled back and grows with the first tokens has one in it.
  void LookForWindow();
  void OrderWindow(llama_seq_id seq);
  void Expect(bool success, const char* what) {
    if (!success && refused_.empty()) refused_ = what;
  }

  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_context* context) const { llama_free(context); }
  };
  std::unique_ptr<llama_model, Free> model_;
  std::unique_ptr<llama_context, Free> context_;
  bool keeps_window_ = false;
  std::mt19937_64 random_{20261121};
  std::string refused_;
};

// The largest difference, and nothing when every bit is the same.
std::optional<double> Difference(const LogitRows& wanted, const LogitRows& got);
// With one digit: more would change with the wind.
std::string DifferenceText(double difference);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_MODEL_BENCH_H_
