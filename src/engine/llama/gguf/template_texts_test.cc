#include "engine/llama/gguf/template_texts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace cairn::template_texts_test {
namespace {

template <typename T>
std::string Bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

std::string Text(const std::string& text) {
  return Bytes<uint64_t>(text.size()) + text;
}

std::string Value(const std::string& key, uint32_t type, const std::string& value) {
  return Text(key) + Bytes(type) + value;
}

std::string File(const std::vector<std::string>& values) {
  std::string file = "GGUF" + Bytes<uint32_t>(3) + Bytes<uint64_t>(0) + Bytes(values.size());
  for (const std::string& value : values) file += value;
  return file;
}

std::string Tokens(const std::vector<std::string>& tokens) {
  std::string array = Bytes<uint32_t>(8) + Bytes<uint64_t>(tokens.size());
  for (const std::string& token : tokens) array += Text(token);
  return Value("tokenizer.ggml.tokens", 9, array);
}

Result<TemplateTexts> Read(const std::string& bytes) {
  const std::string path =
      testing::TempDir() + "cairn_template_texts_" + std::to_string(getpid()) + ".gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  auto read = ReadTemplateTexts(path);
  std::filesystem::remove(path);
  return read;
}

std::string Whole() {
  return File({Value("general.architecture", 8, Text("of next year")),
               Value("scores", 9, Bytes<uint32_t>(6) + Bytes<uint64_t>(2) + std::string(8, 'x')),
               Tokens({"a", "<s>", "</s>"}),
               Value("tokenizer.ggml.bos_token_id", 4, Bytes<uint32_t>(1)),
               Value("tokenizer.ggml.eos_token_id", 4, Bytes<uint32_t>(9)),
               Value("tokenizer.chat_template", 8, Text("{{ x }}"))});
}

TEST(TemplateTexts, AreReadFromAFileOfAnUnknownArchitecture) {
  const auto read = Read(Whole());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->usual, "{{ x }}");
  EXPECT_EQ(read->with_tools, "");
  EXPECT_EQ(read->bos_text, "<s>");
  EXPECT_EQ(read->eos_text, "");  // there is no such token
}

TEST(TemplateTexts, OfAnotherTypeAreNone) {
  const auto read = Read(File({Value("tokenizer.chat_template", 4, Bytes<uint32_t>(1)),
                               Value("tokenizer.ggml.tokens", 4, Bytes<uint32_t>(1)),
                               Value("tokenizer.ggml.bos_token_id", 8, Text("1"))}));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->usual + read->bos_text, "");
}

TEST(TemplateTexts, OfAFileThatEndsTooEarlyAreAnError) {
  const std::string whole = Whole();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Read(whole.substr(0, size)).has_value()) << size;
  }
}

TEST(TemplateTexts, OfAFileWithImpossibleSizesAreAnErrorAtOnce) {
  const uint64_t huge = UINT64_MAX / 2;
  for (const std::string& value :
       {Value("k", 8, Bytes(huge)), Value("k", 9, Bytes<uint32_t>(8) + Bytes(huge)),
        Value("k", 9, Bytes<uint32_t>(12) + Bytes(huge)), Value("k", 99, ""),
        Value("k", 9, Bytes<uint32_t>(99) + Bytes(huge)), Bytes(huge),
        Value("k", 9, Bytes<uint32_t>(9) + Bytes<uint64_t>(1))}) {
    EXPECT_FALSE(Read(File({value})).has_value());
  }
}

TEST(TemplateTexts, OfOtherFilesAreAnErrorThatSaysWhy) {
  const auto none = ReadTemplateTexts("/no/such.gguf");
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_NE(none.error().message.find("'/no/such.gguf'"), std::string::npos);
  const std::string message = Read("{{ a template }}").error().message;
  EXPECT_NE(message.find("cannot be read as a GGUF: "), std::string::npos) << message;
  EXPECT_NE(message.find("magic"), std::string::npos) << message;
}

}  // namespace
}  // namespace cairn::template_texts_test
