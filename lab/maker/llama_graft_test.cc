#include "lab/maker/llama_graft.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/llama/model/llama_pointers.h"
#include "lab/maker/llama_model_maker.h"

namespace cairn::llama_graft_test {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  LlamaModelPtr model;
  LlamaContextPtr context;
};

Loaded Load(const std::string& path) {
  Loaded loaded;
  loaded.model.reset(llama_model_load_from_file(path.c_str(), llama_model_default_params()));
  if (loaded.model == nullptr) return loaded;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 512;
  params.n_batch = params.n_ubatch = 256;
  params.n_threads = params.n_threads_batch = 1;
  loaded.context.reset(llama_init_from_model(loaded.model.get(), params));
  return loaded;
}

// Returns the logits after every token of `text`; synthetic models have byte tokens.
std::vector<std::vector<float>> LogitsOf(const Loaded& loaded, const std::string& text) {
  llama_batch batch = llama_batch_init(static_cast<int32_t>(text.size()), 0, 1);
  for (size_t i = 0; i < text.size(); ++i) {
    batch.token[i] = static_cast<unsigned char>(text[i]);
    batch.pos[i] = static_cast<llama_pos>(i);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  batch.n_tokens = static_cast<int32_t>(text.size());
  EXPECT_EQ(llama_decode(loaded.context.get(), batch), 0);
  llama_batch_free(batch);
  const int32_t size = llama_vocab_n_tokens(llama_model_get_vocab(loaded.model.get()));
  std::vector<std::vector<float>> logits;
  for (size_t i = 0; i < text.size(); ++i) {
    const float* at = llama_get_logits_ith(loaded.context.get(), static_cast<int32_t>(i));
    logits.emplace_back(at, at + size);
  }
  return logits;
}

size_t Likeliest(const std::vector<float>& logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

class LlamaGraft : public ::testing::Test {
 protected:
  LlamaGraft() {
    std::string name = (fs::temp_directory_path() / "cairn_graft_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    folder_ = name;
  }
  ~LlamaGraft() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  void Make(const std::string& architecture, const std::string& quant = "q8_0") const {
    ModelShape shape;
    shape.architecture = architecture;
    shape.width = 128;
    const auto recipe = MakeRecipe(shape);
    ASSERT_TRUE(recipe.has_value());
    ASSERT_TRUE(WriteModel(*recipe, Path("original.gguf"), {quant, {}}).has_value());
  }

  Result<GraftedModel> Graft() const {
    return GraftModel(Path("original.gguf"), Path("graft.gguf"), {});
  }

  // Expects the same most likely tokens, and no logit that differs by more than `tolerance`.
  void ExpectSameAnswers(float tolerance) const {
    const Loaded original = Load(Path("original.gguf"));
    const Loaded graft = Load(Path("graft.gguf"));
    ASSERT_NE(original.context, nullptr);
    ASSERT_NE(graft.context, nullptr);
    const std::string text =
        "A cairn is a pile of stones. Walkers build them where the way divides, so that whoever "
        "comes back in fog finds the place again and need not start from the valley.";
    const auto expected = LogitsOf(original, text);
    const auto got = LogitsOf(graft, text);
    for (size_t i = 0; i < text.size(); ++i) {
      EXPECT_EQ(Likeliest(got[i]), Likeliest(expected[i])) << "behind token " << i;
      for (size_t token = 0; token < expected[i].size(); ++token) {
        ASSERT_NEAR(got[i][token], expected[i][token], tolerance) << i << ", token " << token;
      }
    }
  }

  fs::path folder_;
};

TEST_F(LlamaGraft, AnswersAsTheOriginalDoes) {
  Make("llama", "f32");
  const auto grafted = Graft();
  ASSERT_TRUE(grafted.has_value()) << grafted.error().message;
  EXPECT_EQ(grafted->layers, 4U);
  EXPECT_EQ(grafted->file_bytes, fs::file_size(Path("graft.gguf")));
  // The sums have the same products in another order.
  ExpectSameAnswers(1e-3F);
}

TEST_F(LlamaGraft, IsAHybridModelWithAStateThatCannotBeCut) {
  Make("llama");
  const auto grafted = Graft();
  ASSERT_TRUE(grafted.has_value());
  const Loaded original = Load(Path("original.gguf"));
  const Loaded graft = Load(Path("graft.gguf"));
  ASSERT_NE(graft.context, nullptr);
  EXPECT_FALSE(llama_model_is_hybrid(original.model.get()));
  EXPECT_TRUE(llama_model_is_hybrid(graft.model.get()));
  LogitsOf(original, "some text");
  LogitsOf(graft, "some text");
  const size_t more = llama_state_seq_get_size(graft.context.get(), 0) -
                      llama_state_seq_get_size(original.context.get(), 0);
  EXPECT_NEAR(static_cast<double>(more), static_cast<double>(grafted->state_bytes), 4096);
  EXPECT_TRUE(llama_memory_seq_rm(llama_get_memory(original.context.get()), 0, 4, -1));
  EXPECT_FALSE(llama_memory_seq_rm(llama_get_memory(graft.context.get()), 0, 4, -1));
}

TEST_F(LlamaGraft, RefusesWhatIsNoLlama) {
  Make("qwen3");
  const auto grafted = Graft();
  ASSERT_FALSE(grafted.has_value());
  EXPECT_EQ(grafted.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(grafted.error().message.find("has the architecture qwen3 and not llama"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(Path("graft.gguf")));
}

TEST_F(LlamaGraft, RefusesWhatIsNoModel) {
  std::ofstream(Path("original.gguf")) << "no model";
  const auto grafted = Graft();
  ASSERT_FALSE(grafted.has_value());
  EXPECT_EQ(grafted.error().code, ErrorCode::kNotFound);
}

TEST_F(LlamaGraft, RefusesAPathThatCannotBeWritten) {
  Make("llama");
  const auto grafted = GraftModel(Path("original.gguf"), Path("no/such/graft.gguf"), {});
  ASSERT_FALSE(grafted.has_value());
  EXPECT_EQ(grafted.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn::llama_graft_test
