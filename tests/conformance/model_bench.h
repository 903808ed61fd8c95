// ModelBench: a model and a context directly on libllama, for checks of libllama itself. It uses
// none of our engine, because the engine relies on the table of architectures.

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
using LogitRows = std::vector<float>;  // of several chunks, one after the other
using PromptTokens = std::vector<llama_token>;

constexpr llama_state_seq_flags kWhole = LLAMA_STATE_SEQ_FLAGS_NONE;
constexpr llama_state_seq_flags kPartial = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

// The synthetic models were "trained" on this many tokens, and some of them have learned positions:
// libllama aborts beyond. Prompts are shorter.
constexpr uint32_t kTrainedTokens = 256;
constexpr llama_pos kChunkTokens = 64;
// Every sequence state begins with this header, a magic number and the sequence's id.
constexpr size_t kStateHeaderBytes = 8;

class ModelBench {
 public:
  // Flash attention is on. `unified`: all sequences share one memory; otherwise each has a stream.
  // Either way each has room for kTrainedTokens. kUnsupported: libllama refused it.
  static Result<std::unique_ptr<ModelBench>> Load(const std::string& path, uint32_t sequences,
                                                  bool unified = true);

  // Returns false for a model without a memory, such as a diffusion model.
  bool has_memory() const { return memory() != nullptr; }
  llama_memory_t memory() const { return llama_get_memory(context_.get()); }
  llama_pos window_tokens() const { return llama_model_n_swa(model_.get()); }

  PromptTokens RandomPrompt(size_t tokens);

  // Returns the first call that libllama refused, as one word; empty: none. After a refusal the
  // calls below do nothing.
  const std::string& refused() const { return refused_; }

  // Prefills [begin, end) of `tokens` into `seq`, cut at multiples of kChunkTokens. Returns the
  // last logits of every chunk. The cells of a window are put in order before each chunk, as
  // LlamaEngine does (docs/decisions/0008-window-order.md).
  LogitRows Read(const PromptTokens& tokens, llama_pos begin, llama_pos end, llama_seq_id seq = 0);
  // Decodes [begin, end) into sequence 0 token by token, as for an answer.
  void ReadSingly(const PromptTokens& tokens, llama_pos begin, llama_pos end);
  size_t StateSize(llama_seq_id seq, llama_state_seq_flags flags) const;
  Blob GetState(llama_seq_id seq, llama_state_seq_flags flags);
  void SetState(llama_seq_id seq, const Blob& state, llama_state_seq_flags flags);
  // Removes all tokens from `position` on.
  void Cut(llama_seq_id seq, llama_pos position);
  void Clear(llama_seq_id seq) { Cut(seq, -1); }
  // Shares the cells of [begin, end) of one sequence with another. Negative: from the first, to the
  // last. Aborts the process if libllama does not support it.
  void CopyRange(llama_seq_id from, llama_seq_id to, llama_pos begin, llama_pos end);

 private:
  void Decode(const PromptTokens& tokens, llama_pos begin, llama_pos end, llama_seq_id seq);
  // Not every model with a window reports it: deepseek4 does not. But a state that cannot be rolled
  // back and grows with the first tokens contains a window.
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

// Returns the largest difference, or nullopt if all bits are equal.
std::optional<double> Difference(const LogitRows& wanted, const LogitRows& got);
// Formats one digit; more would differ from run to run.
std::string DifferenceText(double difference);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_MODEL_BENCH_H_
