// Which states belong to which model and machine: LlamaEngine::StateIdentity and DigestModel.

#include <ggml.h>
#include <gguf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/fs.h"
#include "engine/llama/gguf/llama_digest.h"
#include "engine/llama/model/model_devices.h"
#include "testing/engine/llama_fixture.h"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// A folder for one test, removed at its end.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "cairn_identity_" + std::to_string(getpid())) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  const std::string path_;
};

std::string IdentityOf(const LlamaOptions& options) {
  const auto engine = LlamaEngine::Load(options);
  if (!engine) {
    ADD_FAILURE() << engine.error().message;
    return "";
  }
  const auto identity = (*engine)->StateIdentity();
  if (!identity) ADD_FAILURE() << identity.error().message;
  return identity ? *identity : "";
}

std::string DigestOf(const std::string& path) {
  const auto digest = DigestModel(path);
  if (!digest) ADD_FAILURE() << digest.error().message;
  return digest ? digest->text : "";
}

// Returns the value of a fact; empty if there is no such fact.
std::string FactIn(const std::string& identity, const std::string& name) {
  const size_t at = ("\n" + identity).find("\n" + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 1;
  return identity.substr(begin, identity.find('\n', begin) - begin);
}

void FlipBit(const std::string& path, size_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(byte ^ 1));
  ASSERT_TRUE(file.good());
}

// A GGUF file of tensors only, each of `count` float32 numbers of one value.
struct MadeTensor {
  std::string name;
  int64_t size = 0;
  float value = 0;
};
void WriteGguf(const std::string& path, const std::vector<MadeTensor>& tensors,
               uint16_t split_count) {
  size_t bytes = 1 << 20;
  for (const MadeTensor& tensor : tensors) bytes += sizeof(float) * tensor.size;
  ggml_context* const context = ggml_init({bytes, nullptr, false});
  gguf_context* const gguf = gguf_init_empty();
  if (split_count > 0) gguf_set_val_u16(gguf, "split.count", split_count);
  for (const MadeTensor& made : tensors) {
    ggml_tensor* const tensor = ggml_new_tensor_1d(context, GGML_TYPE_F32, made.size);
    ggml_set_name(tensor, made.name.c_str());
    std::fill_n(static_cast<float*>(tensor->data), made.size, made.value);
    gguf_add_tensor(gguf, tensor);
  }
  EXPECT_TRUE(gguf_write_to_file(gguf, path.c_str(), false));
  gguf_free(gguf);
  ggml_free(context);
}

TEST(StateIdentity, StaysWhenTheFileMoves) {
  const Folder folder;
  const std::string& path = test::MadeModel("qwen35");
  const std::string moved = folder.File("another name.gguf");
  fs::copy_file(path, moved);
  fs::last_write_time(moved, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  const std::string identity = IdentityOf(test::SmallOptions(path));
  EXPECT_FALSE(identity.empty());
  EXPECT_EQ(IdentityOf(test::SmallOptions(moved)), identity);
}

TEST(StateIdentity, StaysWithMoreRoom) {
  LlamaOptions options = test::SmallOptions(test::MadeModel("gemma3", 96));
  const std::string identity = IdentityOf(options);
  options.context_tokens = 8192;
  EXPECT_EQ(IdentityOf(options), identity);
}

TEST(StateIdentity, NamesModelMachineAndLibraries) {
  const std::string identity = IdentityOf(test::SmallOptions(test::MadeModel("qwen35")));
  for (const char* name : {"cairn_states", "model", "architecture", "threads", "grid_tokens",
                           "libllama", "ggml", "devices", "features", "libraries"}) {
    EXPECT_NE(FactIn(identity, name), "") << name << " in\n" << identity;
  }
  EXPECT_EQ(FactIn(identity, "architecture"), "qwen35");
  EXPECT_EQ(FactIn(identity, "model"), DigestOf(test::MadeModel("qwen35")));
  EXPECT_EQ(FactIn(identity, "proven_bits").size(), 16u) << identity;
  EXPECT_EQ(FactIn(identity, "proven_chunk").size(), ListGpus().empty() ? 0u : 16u) << identity;
  // The length of the context changes bits only in models with LongRoPE.
  EXPECT_EQ(FactIn(identity, "context_tokens"), "");
}

TEST(StateIdentity, ChangesWithWhatTheModelIsLoadedWith) {
  const LlamaOptions usual = test::SmallOptions(test::MadeModel("qwen35"));
  std::set<std::string> identities = {IdentityOf(usual)};
  const auto changes = [&](const char* what, const LlamaOptions& options) {
    EXPECT_TRUE(identities.insert(IdentityOf(options)).second) << what;
  };
  LlamaOptions options = usual;
  options.cache_type_k = "q8_0";
  changes("cache_type_k", options);
  options = usual;
  options.flash_attention = "off";
  changes("flash_attention", options);
  options = usual;
  options.slots = 2;
  changes("slots", options);
  options.unified = false;
  changes("unified", options);
  options = usual;
  options.threads = 2;
  changes("threads", options);
  options = usual;
  options.ubatch_tokens = 256;
  changes("ubatch_tokens", options);
  options = usual;
  options.grid_tokens = 128;
  changes("grid_tokens", options);
  options = usual;
  options.rope_freq_base = 12345;
  changes("rope_freq_base", options);
  options = usual;
  options.model_path = test::MadeModel("qwen35", 0, "q4_0");
  changes("another quantisation", options);
}

// This property is why the facts leave `threads_batch` out.
TEST(StateIdentity, TheThreadsOfChunksMoveNoBits) {
  for (const char* architecture : {"llama", "qwen35", "gemma3", "mamba2"}) {
    std::set<std::string> logits;
    for (const int threads : {1, 2, 3, 4}) {
      LlamaOptions options = test::SmallOptions(test::MadeModel(architecture));
      options.threads_batch = threads;
      const auto engine = LlamaEngine::Load(options);
      ASSERT_TRUE(engine.has_value()) << engine.error().message;
      const size_t chunk = std::min<size_t>((*engine)->chunk_tokens_max(), 512);
      Tokens tokens(2 * chunk);
      for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(5 + i * 7 % 90);
      ASSERT_TRUE((*engine)->Decode(0, 0, TokenSpan(tokens).first(chunk)));
      ASSERT_TRUE((*engine)->Decode(0, chunk, TokenSpan(tokens).subspan(chunk)));
      const std::span<const float> last = (*engine)->Logits();
      logits.emplace(reinterpret_cast<const char*>(last.data()), last.size_bytes());
    }
    EXPECT_EQ(logits.size(), 1u) << architecture;
  }
}

// The facts' last line is computed, so it covers causes that no other fact names.
TEST(StateIdentity, ProvesBitsByReading) {
  LlamaOptions options = test::SmallOptions(test::MadeModel("llama"));
  const std::string usual = FactIn(IdentityOf(options), "proven_bits");
  EXPECT_EQ(FactIn(IdentityOf(options), "proven_bits"), usual);
  options.rope_freq_base = 12345;
  EXPECT_NE(FactIn(IdentityOf(options), "proven_bits"), usual);
}

TEST(StateIdentity, NamesTheContextWhereRotationsDependOnIt) {
  const Folder folder;
  const std::string path = folder.File("model.gguf");
  fs::copy_file(test::MadeModel("llama"), path);
  const auto engine = LlamaEngine::Load(test::SmallOptions(path));
  ASSERT_TRUE(engine.has_value());
  // No architecture with such factors can be made, so the file is replaced by one that has them.
  WriteGguf(path, {{"rope_factors_long.weight", 8, 1}}, 0);
  const auto identity = (*engine)->StateIdentity();
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(FactIn(*identity, "context_tokens"), "4096");
}

TEST(StateIdentity, SaysWhenTheFileIsGone) {
  const Folder folder;
  const std::string path = folder.File("model.gguf");
  fs::copy_file(test::MadeModel("llama"), path);
  const auto engine = LlamaEngine::Load(test::SmallOptions(path));
  ASSERT_TRUE(engine.has_value());
  fs::remove(path);
  const auto identity = (*engine)->StateIdentity();
  ASSERT_FALSE(identity.has_value());
  EXPECT_EQ(identity.error().code, ErrorCode::kNotFound);
  EXPECT_NE(identity.error().message.find(path), std::string::npos);
}

TEST(DigestModel, ChangesWithTheMetadataAndWithWeights) {
  const Folder folder;
  const std::string& path = test::MadeModel("llama");
  const std::string changed = folder.File("changed.gguf");
  const std::string digest = DigestOf(path);
  EXPECT_EQ(digest.size(), 32u);
  const std::string text = *ReadFile(path);
  const size_t in_name = text.find("general.architecture");
  ASSERT_NE(in_name, std::string::npos);
  for (const size_t offset : {in_name, text.size() - 100}) {
    fs::copy_file(path, changed, fs::copy_options::overwrite_existing);
    FlipBit(changed, offset);
    EXPECT_NE(DigestOf(changed), digest) << offset;
  }
}

TEST(DigestModel, LooksIntoEveryTensor) {
  const Folder folder;
  const std::string path = folder.File("model.gguf");
  std::vector<MadeTensor> tensors;
  for (int i = 0; i < 40; ++i) tensors.push_back({"blk." + std::to_string(i), 5000, 1});
  WriteGguf(path, tensors, 0);
  std::set<std::string> digests = {DigestOf(path)};
  for (MadeTensor& tensor : tensors) {
    tensor.value = 2;
    WriteGguf(path, tensors, 0);
    EXPECT_TRUE(digests.insert(DigestOf(path)).second) << tensor.name;
    tensor.value = 1;
  }
}

TEST(DigestModel, LooksIntoEveryFileOfASplitModel) {
  const Folder folder;
  const std::string first = folder.File("model-00001-of-00002.gguf");
  const std::string second = folder.File("model-00002-of-00002.gguf");
  WriteGguf(first, {{"a", 100, 1}}, 2);
  WriteGguf(second, {{"b", 100, 1}}, 2);
  const std::string digest = DigestOf(first);
  WriteGguf(second, {{"b", 100, 2}}, 2);
  EXPECT_NE(DigestOf(first), digest);
  WriteGguf(second, {{"b", 100, 1}}, 2);
  fs::rename(first, folder.File("moved-00001-of-00002.gguf"));
  fs::rename(second, folder.File("moved-00002-of-00002.gguf"));
  EXPECT_EQ(DigestOf(folder.File("moved-00001-of-00002.gguf")), digest);
  fs::remove(folder.File("moved-00002-of-00002.gguf"));
  const auto gone = DigestModel(folder.File("moved-00001-of-00002.gguf"));
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
}

TEST(DigestModel, RefusesAFileThatEndsEarly) {
  const Folder folder;
  const std::string path = folder.File("model.gguf");
  fs::copy_file(test::MadeModel("llama"), path);
  fs::resize_file(path, fs::file_size(path) - 1);
  const auto digest = DigestModel(path);
  ASSERT_FALSE(digest.has_value());
  EXPECT_EQ(digest.error().code, ErrorCode::kCorrupt);
}

TEST(DigestModel, KnowsModelsThatRotateByTheContextsLength) {
  const Folder folder;
  WriteGguf(folder.File("long.gguf"), {{"blk.0.rope_factors_long.weight", 8, 1}}, 0);
  WriteGguf(folder.File("plain.gguf"), {{"rope_freqs.weight", 8, 1}}, 0);
  EXPECT_TRUE(DigestModel(folder.File("long.gguf"))->rotates_by_context);
  EXPECT_FALSE(DigestModel(folder.File("plain.gguf"))->rotates_by_context);
}

}  // namespace
}  // namespace cairn
