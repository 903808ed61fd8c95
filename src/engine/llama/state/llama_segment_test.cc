// Checks the table of verified architectures, for those that the model maker supports: ranges of
// attention KV are moved out of a sequence and back in, and the logits afterwards are
// bit-identical. Uses libllama directly, because the table must be right before our own code relies
// on it. `make conformance` does more of this, with every architecture.
//
// A range is moved as follows: seq_cp shares its cells with a scratch sequence, whose full state is
// then the attention KV of the range followed by the state that cannot be rolled back.

#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
#include <random>
#include <vector>

#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/model/llama_pointers.h"
#include "engine/verified_architectures.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

constexpr llama_seq_id kSeq = 0;
constexpr llama_seq_id kScratch = 1;
constexpr llama_pos kPiece = 64;

using State = std::vector<uint8_t>;

class SegmentBench {
 public:
  explicit SegmentBench(const std::string& path) {
    InitLlamaBackend({});
    model_.reset(llama_model_load_from_file(path.c_str(), llama_model_default_params()));
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 2048;
    params.n_ubatch = 128;
    params.n_seq_max = 2;
    params.kv_unified = true;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    params.n_threads = 1;
    params.n_threads_batch = 1;
    if (model_) context_.reset(llama_init_from_model(model_.get(), params));
  }

  bool loaded() const { return context_ != nullptr; }
  llama_memory_t memory() const { return llama_get_memory(context_.get()); }

  // Prefills [begin, end) of `tokens` in chunks and returns the last logits.
  std::vector<float> Read(std::vector<llama_token>& tokens, llama_pos begin, llama_pos end) {
    while (begin < end) {
      const llama_pos size = std::min(kPiece, end - begin);
      // Positions continue where sequence 0 ends.
      llama_batch batch = llama_batch_get_one(tokens.data() + begin, size);
      EXPECT_EQ(llama_decode(context_.get(), batch), 0);
      begin += size;
    }
    const float* logits = llama_get_logits_ith(context_.get(), -1);
    const int32_t vocab = llama_vocab_n_tokens(llama_model_get_vocab(model_.get()));
    return {logits, logits + vocab};
  }

  State Get(llama_seq_id seq, llama_state_seq_flags flags) {
    State state(llama_state_seq_get_size_ext(context_.get(), seq, flags));
    EXPECT_EQ(llama_state_seq_get_data_ext(context_.get(), state.data(), state.size(), seq, flags),
              state.size());
    return state;
  }
  void Set(llama_seq_id seq, const State& state, llama_state_seq_flags flags) {
    EXPECT_GT(llama_state_seq_set_data_ext(context_.get(), state.data(), state.size(), seq, flags),
              0u);
  }

  State TakeSegment(llama_pos begin, llama_pos end) {
    llama_memory_seq_cp(memory(), kSeq, kScratch, begin, end);
    State state = Get(kScratch, LLAMA_STATE_SEQ_FLAGS_NONE);
    llama_memory_seq_rm(memory(), kScratch, -1, -1);
    return state;
  }
  void SetSegment(const State& segment) {
    Set(kScratch, segment, LLAMA_STATE_SEQ_FLAGS_NONE);
    llama_memory_seq_cp(memory(), kScratch, kSeq, -1, -1);
    llama_memory_seq_rm(memory(), kScratch, -1, -1);
  }

 private:
  LlamaModelPtr model_;
  LlamaContextPtr context_;
};

class LlamaSegment : public testing::TestWithParam<std::string_view> {};

// The prompt is short enough that a window's cells do not wrap around to the first one: LlamaEngine
// keeps their order otherwise (docs/decisions/0008-window-order.md).
TEST_P(LlamaSegment, MovedRangesAndASnapshotGiveTheSameBits) {
  const std::string architecture(GetParam());
  ASSERT_TRUE(SegmentsVerified(architecture));
  // The recipe has a window where the architecture has one; the default is longer than the prompt.
  SegmentBench bench(test::MadeModel(architecture, architecture == "gemma3" ? 96 : 0));
  ASSERT_TRUE(bench.loaded());
  std::mt19937_64 random(11);
  std::vector<llama_token> tokens(500);
  for (llama_token& token : tokens) token = static_cast<llama_token>(random() % 256);

  bench.Read(tokens, 0, 192);
  const State first = bench.TakeSegment(0, 192);
  bench.Read(tokens, 192, 384);
  const State second = bench.TakeSegment(192, 384);
  const State snapshot = bench.Get(kSeq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  // As LlamaEngine does before each chunk: a restored window begins at the first cell, and kernels
  // that work in blocks of cells (those for AMX) sum one that begins elsewhere in other blocks.
  bench.Set(kSeq, snapshot, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  const auto uninterrupted = bench.Read(tokens, 384, 448);
  const auto end = bench.Read(tokens, 448, 500);

  // Clears the memory, so that the restored run cannot use anything left of it.
  llama_memory_clear(bench.memory(), true);
  bench.SetSegment(first);
  bench.SetSegment(second);
  bench.Set(kSeq, snapshot, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
  ASSERT_EQ(llama_memory_seq_pos_max(bench.memory(), kSeq), 383);
  EXPECT_EQ(bench.Read(tokens, 384, 448), uninterrupted);
  EXPECT_EQ(bench.Read(tokens, 448, 500), end);
}

INSTANTIATE_TEST_SUITE_P(OfMadeModels, LlamaSegment,
                         testing::Values("falcon-h1", "gemma3", "lfm2", "llama", "qwen35"),
                         [](const auto& tested) {
                           std::string name(tested.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace cairn
