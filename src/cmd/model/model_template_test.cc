#include "cmd/model/model_template.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/json.h"
#include "cmd/model/template_report.h"
#include "testing/base/golden_file.h"

namespace cairn::model_template_test {
namespace {

const std::string kTemplates = CAIRN_SOURCE_DIR "/testdata/templates";

struct Output {
  int exit_code = 0;
  std::string out;
  std::string error;
};

Output Reported(const std::string& arguments) {
  ModelTemplateOptions options;
  CLI::App model;
  AddModelTemplate(&model, &options);
  model.parse("template " + arguments);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Output output;
  output.exit_code = RunModelTemplate(options);
  output.out = testing::internal::GetCapturedStdout();
  output.error = testing::internal::GetCapturedStderr();
  return output;
}

// A folder that is gone behind the test.
class ModelTemplate : public testing::Test {
 protected:
  ModelTemplate() : folder_(testing::TempDir() + "cairn_templates_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~ModelTemplate() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  const std::string folder_;
};

// A GGUF file whose metadata are these texts.
std::string Gguf(const std::vector<std::pair<std::string, std::string>>& texts) {
  const auto number = [](uint64_t value, size_t bytes) {
    return std::string(reinterpret_cast<const char*>(&value), bytes);
  };
  std::string file = "GGUF" + number(3, 4) + number(0, 8) + number(texts.size(), 8);
  for (const auto& [key, text] : texts) {
    file += number(key.size(), 8) + key + number(8, 4) + number(text.size(), 8) + text;
  }
  return file;
}

constexpr char kTurns[] =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

TEST_F(ModelTemplate, PrintsWhatIsLearned) {
  std::string reports;
  for (const char* name : {"qwen3", "gpt-oss", "gemma2", "mistral-v3"}) {
    const Output output = Reported(kTemplates + "/" + name + ".jinja");
    EXPECT_EQ(output.exit_code, 0);
    reports += output.out;
  }
  for (size_t at = reports.find(kTemplates); at != std::string::npos;
       at = reports.find(kTemplates)) {
    reports.erase(at, kTemplates.size() + 1);
  }
  ExpectGolden("template_reports.txt", reports);
}

TEST_F(ModelTemplate, SaysWhereATemplateIsWrong) {
  const std::string path = Write("a.jinja", "{% for m in messages %}\n  {% include 'b' %}");
  const Output output = Reported(path);
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_NE(output.out.find("not a template"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("row 2, column"), std::string::npos) << output.out;
  const Json json = Json::parse(Reported(path + " --json").out);
  EXPECT_EQ(json[0]["file"], path);
  EXPECT_NE(json[0]["error"].text().find("row 2, column"), std::string::npos);
}

TEST_F(ModelTemplate, SaysWhichConversationsAreRefusedAndWhere) {
  const std::string path =
      Write("a.jinja", std::string("{% for m in messages %}{% if m.role == 'assistant' %}\n"
                                   "{{ m.content.nothing.here }}{% endif %}{% endfor %}") +
                           kTurns);
  const Json json = Json::parse(Reported(path + " --json").out)[0];
  EXPECT_FALSE(json.contains("error"));
  ASSERT_TRUE(json["refused"].contains("an answer and a question")) << json.dump();
  EXPECT_NE(json["refused"]["an answer and a question"].text().find("row 2, column "),
            std::string::npos)
      << json.dump();
  EXPECT_EQ(json["boundaries"]["before_an_answer"], "<assistant>");
}

TEST_F(ModelTemplate, ReadsTheTemplatesOfAGgufFile) {
  const std::string one = Write("a.gguf", Gguf({{"tokenizer.chat_template", kTurns}}));
  EXPECT_EQ(FindTemplateFiles(one)->front().source, kTurns);
  const std::string two = Write("b.gguf", Gguf({{"tokenizer.chat_template", kTurns},
                                                {"tokenizer.chat_template.tool_use", "{{ 1 }}"}}));
  EXPECT_NE(FindTemplateFiles(two)->front().source.find("{{ 1 }}"), std::string::npos);
  const std::string none = Write("c.gguf", Gguf({{"general.name", "none"}}));
  const Output output = Reported(none);
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_EQ(output.error, "cairn model template: '" + none + "' has no chat template\n");
}

TEST_F(ModelTemplate, ReadsAFoldersTemplatesInTheOrderOfTheirNames) {
  Write("b.jinja", kTurns);
  Write("c-00001-of-00002.gguf", Gguf({{"tokenizer.chat_template", "{{ 1 }}"}}));
  Write("c-00002-of-00002.gguf", Gguf({{"tokenizer.chat_template", "{{ 2 }}"}}));
  Write("mmproj.gguf", Gguf({}));
  Write("notes.txt", "{{ 3 }}");
  Write("tokenizer_config.json",
        R"({"bos_token":{"content":"<b>"},"eos_token":"<e>","chat_template":)"
        R"([{"name":"default","template":"{{ 4 }}"},{"name":"rag","template":"{{ 5 }}"}]})");
  const auto files = FindTemplateFiles(folder_);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  ASSERT_EQ(files->size(), 3U);
  EXPECT_EQ((*files)[0].source, kTurns);
  EXPECT_EQ((*files)[0].bos_text + (*files)[0].eos_text, "<b><e>");
  EXPECT_EQ((*files)[1].source, "{{ 1 }}");
  EXPECT_EQ((*files)[2].source, "{{ 4 }}");
  EXPECT_EQ(Json::parse(Reported(folder_ + " --json").out).size(), 3U);
}

TEST_F(ModelTemplate, SaysInOneLineWhyThereIsNone) {
  for (const std::string& path :
       {folder_, folder_ + "/none.jinja", folder_ + "/none.gguf", Write("a.json", "[]"),
        Write("b.json", "{}"), Write("c.gguf", "GGUF"), Write("d.gguf", "{{ 1 }}")}) {
    const Output output = Reported(path);
    EXPECT_EQ(output.exit_code, 1) << path;
    EXPECT_EQ(output.out, "");
    EXPECT_EQ(output.error.find("cairn model template: "), 0U) << output.error;
    EXPECT_NE(output.error.find("'" + path + "'"), std::string::npos) << output.error;
    EXPECT_EQ(output.error.find('\n'), output.error.size() - 1) << output.error;
  }
}

}  // namespace
}  // namespace cairn::model_template_test
