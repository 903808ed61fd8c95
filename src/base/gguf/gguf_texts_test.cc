#include "base/gguf/gguf_texts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cairn::gguf_texts_test {
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
  std::string file = "GGUF" + Bytes<uint32_t>(3) + Bytes<uint64_t>(7) + Bytes(values.size());
  for (const std::string& value : values) file += value;
  return file;
}

std::string Tokens(const std::vector<std::string>& tokens) {
  std::string array = Bytes<uint32_t>(8) + Bytes<uint64_t>(tokens.size());
  for (const std::string& token : tokens) array += Text(token);
  return Value("tokenizer.ggml.tokens", 9, array);
}

Result<GgufTexts> Read(const std::string& bytes) {
  const std::string path =
      testing::TempDir() + "cairn_gguf_texts_" + std::to_string(getpid()) + ".gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  auto read = ReadGgufTexts(path);
  std::filesystem::remove(path);
  return read;
}

std::string Whole() {
  return File({Value("general.name", 8, Text("made")),
               Value("scores", 9, Bytes<uint32_t>(6) + Bytes<uint64_t>(2) + std::string(8, 'x')),
               Tokens({"a", "<s>", "</s>"}), Value("half", 6, Bytes(0.5F)),
               Value("yes", 7, Bytes<uint8_t>(1)),
               Value("tokenizer.ggml.bos_token_id", 4, Bytes<uint32_t>(1)),
               Value("tokenizer.ggml.eos_token_id", 4, Bytes<uint32_t>(9)),
               Value("tokenizer.chat_template", 8, Text("{{ x }}"))});
}

TEST(GgufTexts, AreTheTextsNumbersAndTokensOfTheMetadata) {
  const auto read = Read(Whole());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->TextOf("general.name"), "made");
  EXPECT_EQ(read->TextOf("tokenizer.chat_template"), "{{ x }}");
  EXPECT_EQ(read->TextOf("no.such"), "");
  EXPECT_EQ(read->TokenOf("tokenizer.ggml.bos_token_id"), "<s>");
  EXPECT_EQ(read->TokenOf("tokenizer.ggml.eos_token_id"), "");
  EXPECT_EQ(read->TokenOf("no.such"), "");
}

TEST(GgufTexts, OfAFileThatEndsTooEarlyAreAnError) {
  const std::string whole = Whole();
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(Read(whole.substr(0, size)).has_value()) << size;
  }
}

TEST(GgufTexts, OfAFileWithImpossibleSizesAreAnErrorAtOnce) {
  const uint64_t huge = UINT64_MAX / 2;
  for (const std::string& value :
       {Value("k", 8, Bytes(huge)), Value("k", 9, Bytes<uint32_t>(8) + Bytes(huge)),
        Value("k", 9, Bytes<uint32_t>(12) + Bytes(huge)), Value("k", 99, ""),
        Value("k", 9, Bytes<uint32_t>(99) + Bytes(huge)), Bytes(huge)}) {
    const auto read = Read(File({value}));
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().message.find("is damaged"), std::string::npos) << read.error().message;
  }
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += Bytes<uint32_t>(9) + Bytes<uint64_t>(1);
  EXPECT_FALSE(Read(File({Value("k", 9, nested)})).has_value());
}

TEST(GgufTexts, OfOtherFilesAreAnErrorThatSaysSo) {
  EXPECT_EQ(ReadGgufTexts("/no/such.gguf").error().code, ErrorCode::kNotFound);
  EXPECT_NE(Read("{{ a template }}").error().message.find("is not a GGUF file"), std::string::npos);
  EXPECT_NE(Read("GGUF" + Bytes<uint32_t>(1)).error().message.find("version 1"), std::string::npos);
}

}  // namespace
}  // namespace cairn::gguf_texts_test
