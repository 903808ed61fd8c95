// Control vectors: how their files are read, and that they change what a model computes.

#include "engine/llama/model/control_vector.h"

#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

struct MadeRow {
  std::string name;
  int64_t width = 0;
  float value = 0;
};

// A GGUF file for one test, removed at its end.
class VectorFile {
 public:
  VectorFile(const std::string& name, const std::vector<MadeRow>& rows)
      : path_(testing::TempDir() + name + std::to_string(getpid()) + ".gguf") {
    ggml_context* const context = ggml_init({size_t{1} << 20, nullptr, false});
    gguf_context* const gguf = gguf_init_empty();
    for (const MadeRow& row : rows) {
      ggml_tensor* const tensor = ggml_new_tensor_1d(context, GGML_TYPE_F32, row.width);
      ggml_set_name(tensor, row.name.c_str());
      std::fill_n(static_cast<float*>(tensor->data), row.width, row.value);
      gguf_add_tensor(gguf, tensor);
    }
    EXPECT_TRUE(gguf_write_to_file(gguf, path_.c_str(), false));
    gguf_free(gguf);
    ggml_free(context);
  }
  ~VectorFile() { unlink(path_.c_str()); }
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// The logits behind a few tokens, and the identity of the states.
struct Computed {
  std::vector<float> logits;
  std::string identity;
};
Computed Compute(const LlamaOptions& options) {
  Computed computed;
  const auto engine = LlamaEngine::Load(options);
  EXPECT_TRUE(engine.has_value()) << engine.error().message;
  if (!engine) return computed;
  const Tokens tokens = {5, 6, 7, 8};
  EXPECT_TRUE((*engine)->Decode(0, 0, tokens).has_value());
  const auto logits = (*engine)->Logits();
  computed.logits.assign(logits.begin(), logits.end());
  computed.identity = (*engine)->StateIdentity().value_or("");
  return computed;
}

TEST(ControlVector, IsTheSumOfItsFilesTimesTheirScales) {
  const VectorFile one("one", {{"direction.1", 4, 1.0F}, {"direction.3", 4, 2.0F}});
  const VectorFile other("other", {{"direction.1", 4, 10.0F}, {"something", 4, 7.0F}});
  const auto vector = ReadControlVectors({{one.path(), 1}, {other.path(), 0.5F}});
  ASSERT_TRUE(vector.has_value()) << vector.error().message;
  EXPECT_EQ(vector->width, 4u);
  EXPECT_EQ(vector->rows, (std::vector<float>{6, 6, 6, 6, 0, 0, 0, 0, 2, 2, 2, 2}));
}

TEST(ControlVector, OfNoFilesIsEmpty) {
  const auto vector = ReadControlVectors({});
  ASSERT_TRUE(vector.has_value());
  EXPECT_TRUE(vector->empty());
  EXPECT_EQ(ControlVectorFact(*vector, {}), "");
}

TEST(ControlVector, NamesTheFileThatIsNone) {
  const VectorFile none("none", {{"direction.0", 4, 1}, {"weights", 4, 1}});
  const VectorFile wide("wide", {{"direction.1", 4, 1}, {"direction.2", 8, 1}});
  for (const std::string& path : {none.path(), wide.path(), std::string("/gone.gguf")}) {
    const auto vector = ReadControlVectors({{path, 1}});
    ASSERT_FALSE(vector.has_value()) << path;
    EXPECT_NE(vector.error().message.find(path), std::string::npos) << vector.error().message;
  }
}

TEST(ControlVector, ChangesWhatAModelComputesAndItsStates) {
  LlamaOptions options = test::SmallOptions(test::MadeModel("llama"));
  const Computed plain = Compute(options);
  const auto engine = LlamaEngine::Load(options);
  ASSERT_TRUE(engine.has_value());
  const int64_t width = llama_model_n_embd((*engine)->model());
  const VectorFile file("acts", {{"direction.1", width, 3.0F}});
  options.control_vectors = {{file.path(), 1}};
  const Computed steered = Compute(options);
  EXPECT_NE(steered.logits, plain.logits);
  EXPECT_NE(steered.identity, plain.identity);
  EXPECT_NE(steered.identity.find("control_vector="), std::string::npos);
  // Outside its layers it does nothing.
  options.control_layer_first = options.control_layer_last = 1000;
  EXPECT_EQ(Compute(options).logits, plain.logits);
}

TEST(ControlVector, OfAnotherModelIsRefused) {
  const VectorFile file("narrow", {{"direction.1", 3, 1.0F}});
  LlamaOptions options = test::SmallOptions(test::MadeModel("llama"));
  options.control_vectors = {{file.path(), 1}};
  const auto engine = LlamaEngine::Load(options);
  ASSERT_FALSE(engine.has_value());
  EXPECT_NE(engine.error().message.find("of another model"), std::string::npos);
}

}  // namespace
}  // namespace cairn
