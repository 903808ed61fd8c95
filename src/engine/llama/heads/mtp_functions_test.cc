#include "engine/llama/heads/mtp_functions.h"

#include <gguf.h>
#include <gtest/gtest.h>
#include <llama.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/model/llama_pointers.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

void* Anywhere(const char* /*name*/) {
  static int somewhere = 0;
  return &somewhere;
}

TEST(MtpFunctions, OfAnUnknownVersionAreNotUsed) {
  for (const char* version : {"0.6.2", "0.70", "1.0.0", "", "b9000"}) {
    const auto found = FindMangled(version, Anywhere);
    ASSERT_FALSE(found.has_value()) << version;
    EXPECT_EQ(found.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(found.error().message.find("0.7"), std::string::npos);
  }
  EXPECT_TRUE(FindMangled("0.7", Anywhere).has_value());
  EXPECT_TRUE(FindMangled("0.7.3", Anywhere).has_value());
}

TEST(MtpFunctions, ThatAreNotExportedAreNotUsed) {
  const auto found = FindMangled("0.7.0", [](const char*) -> void* { return nullptr; });
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().message.find("does not export"), std::string::npos);
}

// Values of a float32 tensor of a file.
class Weights {
 public:
  explicit Weights(const std::string& path) {
    gguf_init_params params = {/*no_alloc=*/false, &data_};
    gguf_.reset(gguf_init_from_file(path.c_str(), params));
  }
  ~Weights() { ggml_free(data_); }
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;
  const float* Of(const char* name) const {
    return static_cast<const float*>(ggml_get_data(ggml_get_tensor(data_, name)));
  }

 private:
  struct Deleter {
    void operator()(gguf_context* gguf) const { gguf_free(gguf); }
  };
  ggml_context* data_ = nullptr;
  std::unique_ptr<gguf_context, Deleter> gguf_;
};

// The row is the hidden state that the output is applied to.
std::vector<float> LogitsOf(const float* row, size_t width, size_t vocab, const Weights& weights) {
  const float* const output = weights.Of("output.weight");
  std::vector<float> logits(vocab, 0.0F);
  for (size_t token = 0; token < vocab; ++token) {
    for (size_t i = 0; i < width; ++i) logits[token] += output[token * width + i] * row[i];
  }
  return logits;
}

// Keeps the list of versions: with the libllama that this test is linked with, the functions exist
// and do what MtpFunctions says, or the rows would not give its logits.
TEST(MtpFunctions, GiveTheRowsThatThisLibrarysLogitsAreComputedFrom) {
  InitLlamaBackend({});
  const auto functions = FindMtpFunctions();
  ASSERT_TRUE(functions.has_value()) << functions.error().message;
  const std::string path = test::MadeModelWithHead("glm4moe");
  llama_model_params model_params = llama_model_default_params();
  const LlamaModelPtr model(llama_model_load_from_file(path.c_str(), model_params));
  ASSERT_NE(model, nullptr);
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_threads = params.n_threads_batch = 1;
  params.type_k = params.type_v = GGML_TYPE_F32;
  const LlamaContextPtr context(llama_init_from_model(model.get(), params));
  ASSERT_NE(context, nullptr);
  functions->keep_rows(context.get(), true, /*masked=*/false);
  std::vector<llama_token> tokens = {'H', 'e', 'l', 'l', 'o'};
  const auto count = static_cast<int32_t>(tokens.size());
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int32_t i = 0; i < count; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = i % 2 == 0 ? 1 : 0;  // rows without logits have a state too
  }
  ASSERT_EQ(llama_decode(context.get(), batch), 0);
  llama_batch_free(batch);
  const Weights weights(path);
  const auto width = static_cast<size_t>(llama_model_n_embd(model.get()));
  const auto vocab = static_cast<size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model.get())));
  for (int32_t i = 0; i < count; ++i) {
    const float* const row = functions->row(context.get(), i);
    ASSERT_NE(row, nullptr) << i;
    if (i % 2 != 0) continue;
    const float* const expected = llama_get_logits_ith(context.get(), i);
    const auto logits = LogitsOf(row, width, vocab, weights);
    for (size_t token = 0; token < vocab; ++token) {
      ASSERT_NEAR(logits[token], expected[token], 1e-3) << i << ", " << token;
    }
  }
}

}  // namespace
}  // namespace cairn
