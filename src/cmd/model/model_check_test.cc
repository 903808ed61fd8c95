#include "cmd/model/model_check.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/json.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

// What the command line `arguments` after "cairn model" means.
ModelCheckOptions Parse(const std::string& arguments) {
  ModelCheckOptions options;
  CLI::App model;
  AddModelCheck(&model, &options);
  model.parse(arguments);
  return options;
}

struct Output {
  int exit_code = 0;
  std::string out;
  std::string error;
};

Output Check(const std::string& arguments) {
  const ModelCheckOptions options = Parse(arguments);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Output output;
  output.exit_code = RunModelCheck(options);
  output.out = testing::internal::GetCapturedStdout();
  output.error = testing::internal::GetCapturedStderr();
  return output;
}

Json Checked(const std::string& path) {
  const Output output = Check("check " + path + " --json -t 1");
  EXPECT_EQ(output.exit_code, 0) << output.error;
  return Json::parse(output.out);
}

// A copy of a made model, changed by `change`.
std::string Broken(const std::string& name, void (*change)(std::string*)) {
  std::ifstream in(test::MadeModel("llama"), std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  change(&bytes);
  const std::string path =
      testing::TempDir() + "cairn_check_" + std::to_string(getpid()) + name + ".gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

void ExpectOneLine(const std::string& path, const std::string& part) {
  const Output output = Check("check " + path);
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_EQ(output.out, "");
  EXPECT_EQ(output.error.find("cairn model check: "), 0u) << output.error;
  EXPECT_EQ(output.error.find('\n'), output.error.size() - 1) << output.error;
  EXPECT_NE(output.error.find(part), std::string::npos) << output.error;
}

TEST(ModelCheck, TakesTheContextAndThreadsFromTheCommandLine) {
  const ModelCheckOptions options = Parse("check a.gguf -c 512 --ubatch-size 64 -t 3 --json");
  EXPECT_EQ(options.llama.model_path, "a.gguf");
  EXPECT_EQ(options.llama.context_tokens, 512u);
  EXPECT_EQ(options.llama.ubatch_tokens, 64u);
  EXPECT_EQ(options.llama.threads, 3);
  EXPECT_TRUE(options.json);
  EXPECT_THROW(Parse("check"), CLI::ParseError);
  EXPECT_THROW(Parse("check a.gguf -c 0"), CLI::ParseError);
}

TEST(ModelCheck, NamesAHybridAndItsGridInJson) {
  const std::string& path = test::MadeModel("qwen35");
  const Json json = Checked(path);
  EXPECT_EQ(json["path"], path);
  EXPECT_EQ(json["architecture"], "qwen35");
  EXPECT_EQ(json["memory_class"], "hybrid");
  EXPECT_EQ(json["train_context_tokens"], 262144);
  EXPECT_EQ(json["vocab_size"], 261);
  EXPECT_EQ(json["window_tokens"], 0);
  EXPECT_EQ(json["has_chat_template"], true);
  EXPECT_EQ(json["segments"], true);
  EXPECT_EQ(json["grid_measured"], true);
  EXPECT_GT(json["grid_tokens"], 0);
  EXPECT_GT(json["snapshot_bytes"], 1000);
  EXPECT_GT(json["kv_bytes_per_token"], 0);
  EXPECT_GT(json["parameters"], 10000);
  EXPECT_GT(json["size_bytes"], 10000);
  EXPECT_NE(json["description"], "");
}

TEST(ModelCheck, SaysWhatOtherMemoriesLack) {
  const Json attention = Checked(test::MadeModel("llama"));
  EXPECT_EQ(attention["memory_class"], "attention");
  EXPECT_EQ(attention["snapshot_bytes"], 0);
  const Json recurrent = Checked(test::MadeModel("mamba2"));
  EXPECT_EQ(recurrent["memory_class"], "recurrent");
  EXPECT_EQ(recurrent["kv_bytes_per_token"], 0);
  EXPECT_EQ(recurrent["segments"], false);
  const Json window = Checked(test::MadeModel("gpt-oss", 96));
  EXPECT_EQ(window["memory_class"], "sliding-window");
  EXPECT_EQ(window["window_tokens"], 96);
}

TEST(ModelCheck, SaysTheSameForPeople) {
  const Output output = Check("check " + test::MadeModel("mamba2") + " -t 1");
  EXPECT_EQ(output.exit_code, 0) << output.error;
  for (const char* part : {"architecture       mamba2\n", "memory             recurrent\n",
                           ", measured\n", "segments           no: there is no attention KV\n",
                           "trained context    262144 tokens\n"}) {
    EXPECT_NE(output.out.find(part), std::string::npos) << part << "\n" << output.out;
  }
}

TEST(ModelCheck, SaysInOneLineWhyAFileIsNoModel) {
  ExpectOneLine("/no/such/file.gguf", "there is no model file");
  ExpectOneLine(testing::TempDir(), "is a folder");
  ExpectOneLine(CAIRN_SOURCE_DIR "/CMakeLists.txt", "is not a GGUF file");
}

TEST(ModelCheck, SaysInOneLineWhatIsWrongWithABrokenModel) {
  const std::string half =
      Broken("half", [](std::string* bytes) { bytes->resize(bytes->size() / 2); });
  ExpectOneLine(half, "cannot load");
  const std::string head = Broken("head", [](std::string* bytes) { bytes->resize(200); });
  ExpectOneLine(head, "cannot load");
  const std::string unknown = Broken("unknown", [](std::string* bytes) {
    // The first "llama" that is a value stands after its key, its type and its length.
    const std::string key = "general.architecture";
    const size_t at = bytes->find("llama", bytes->find(key) + key.size());
    bytes->replace(at, 5, "lemma");
  });
  ExpectOneLine(unknown, "lemma");
  for (const std::string& path : {half, head, unknown}) std::filesystem::remove(path);
}

}  // namespace
}  // namespace cairn
