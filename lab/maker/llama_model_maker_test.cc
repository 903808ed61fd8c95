#include "lab/maker/llama_model_maker.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/tokens.h"
#include "engine/llama/model/llama_pointers.h"
#include "lab/maker/model_vocabulary.h"

namespace cairn::llama_model_maker_test {
namespace {

namespace fs = std::filesystem;

// A synthetic model, loaded from its file.
struct Loaded {
  LlamaModelPtr model;
  LlamaContextPtr context;

  const llama_vocab* vocab() const { return llama_model_get_vocab(model.get()); }
};

class LlamaModelMaker : public ::testing::Test {
 protected:
  LlamaModelMaker() {
    // Tests of this program run concurrently, each in a process of its own.
    std::string name = "cairn_model_maker_XXXXXX";
    name = (fs::temp_directory_path() / name).string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    folder_ = name;
  }
  ~LlamaModelMaker() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  size_t FilesInFolder() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

// Half as wide and deep as the defaults, where the architecture allows it.
ModelShape SmallShape(const std::string& architecture, uint64_t seed = 1) {
  ModelShape shape;
  shape.architecture = architecture;
  shape.width = 128;
  shape.seed = seed;
  if (architecture == "gemma3" || architecture == "gpt-oss") shape.window_tokens = 64;
  return shape;
}

Result<WrittenModel> Make(const ModelShape& shape, const std::string& path,
                          const std::string& quant = "q8_0") {
  const Result<ModelRecipe> recipe = MakeRecipe(shape);
  if (!recipe) return tl::unexpected<Error>(recipe.error());
  WriteOptions options;
  options.quant = quant;
  return WriteModel(*recipe, path, options);
}

Loaded Load(const std::string& path) {
  Loaded loaded;
  loaded.model.reset(llama_model_load_from_file(path.c_str(), llama_model_default_params()));
  if (loaded.model == nullptr) return loaded;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 1024;
  params.n_batch = params.n_ubatch = 256;
  params.n_threads = params.n_threads_batch = 1;
  params.swa_full = false;
  loaded.context.reset(llama_init_from_model(loaded.model.get(), params));
  return loaded;
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

Tokens Tokenize(const Loaded& loaded, const std::string& text, bool parse_special) {
  Tokens tokens(text.size() + 8);
  const int32_t count =
      llama_tokenize(loaded.vocab(), text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                     static_cast<int32_t>(tokens.size()), /*add_special=*/true, parse_special);
  EXPECT_GE(count, 0);
  tokens.resize(static_cast<size_t>(count));
  return tokens;
}

std::string Piece(const Loaded& loaded, Token token, bool special) {
  char buffer[32];
  const int32_t size =
      llama_token_to_piece(loaded.vocab(), token, buffer, sizeof buffer, 0, special);
  EXPECT_GE(size, 0);
  return std::string(buffer, static_cast<size_t>(size));
}

bool Decode(const Loaded& loaded, Tokens tokens) {
  return llama_decode(loaded.context.get(),
                      llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()))) == 0;
}

// Returns the most likely next token by the logits of the last decode. Fails if a logit is not
// finite.
Token Likeliest(const Loaded& loaded) {
  const float* logits = llama_get_logits_ith(loaded.context.get(), -1);
  Token best = 0;
  for (Token token = 0; token < kVocabularySize; ++token) {
    EXPECT_TRUE(std::isfinite(logits[token])) << "logit of token " << token;
    if (logits[token] > logits[best]) best = token;
  }
  EXPECT_GT(logits[best], 0);
  return best;
}

std::string GreedyAnswer(const Loaded& loaded, const std::string& prompt, int length) {
  llama_memory_clear(llama_get_memory(loaded.context.get()), true);
  std::string answer;
  if (!Decode(loaded, Tokenize(loaded, prompt, false))) return "decode failed";
  for (int i = 0; i < length; ++i) {
    const Token token = Likeliest(loaded);
    answer += Piece(loaded, token, false);
    if (!Decode(loaded, {token})) return "decode failed";
  }
  return answer;
}

// Returns `size` characters of made-up words; they differ between seeds.
std::string Prose(size_t size, uint32_t seed) {
  std::string text;
  while (text.size() < size) {
    seed = seed * 1664525U + 1013904223U;
    const uint32_t word = (seed >> 16) % 64;
    for (uint32_t i = 0; i < 2 + word % 7; ++i) {
      text += static_cast<char>('a' + (word * 7 + i * 5) % 26);
    }
    text += ' ';
  }
  text.resize(size);
  return text;
}

void ExpectLetters(const std::string& answer) {
  for (const char c : answer) {
    EXPECT_TRUE(c == ' ' || std::isalpha(static_cast<unsigned char>(c)) != 0) << answer;
  }
  EXPECT_GE(std::set<char>(answer.begin(), answer.end()).size(), 4U) << answer;
}

TEST_F(LlamaModelMaker, EveryArchitectureLoadsAgainAndAnswersInLetters) {
  for (const std::string& name : KnownArchitectures()) {
    SCOPED_TRACE(name);
    const std::string path = Path(name + ".gguf");
    const Result<WrittenModel> written = Make(SmallShape(name), path);
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->file_bytes, fs::file_size(path));
    const Loaded loaded = Load(path);
    ASSERT_NE(loaded.context, nullptr);
    EXPECT_EQ(llama_model_n_params(loaded.model.get()), written->parameters);
    EXPECT_EQ(llama_model_n_ctx_train(loaded.model.get()), 262144);
    const std::string one = GreedyAnswer(loaded, Prose(200, 1), 40);
    const std::string other = GreedyAnswer(loaded, Prose(200, 2), 40);
    ExpectLetters(one);
    ExpectLetters(other);
    EXPECT_NE(one, other);
    EXPECT_EQ(one, GreedyAnswer(loaded, Prose(200, 1), 40));
  }
}

TEST_F(LlamaModelMaker, AnswersHangOnWhatStoodFarBefore) {
  // The prompts share their last hundred characters: the answers differ only by earlier state.
  for (const std::string& name : KnownArchitectures()) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(Make(SmallShape(name), Path("m.gguf")));
    const Loaded loaded = Load(Path("m.gguf"));
    ASSERT_NE(loaded.context, nullptr);
    const std::string end = Prose(100, 3);
    EXPECT_NE(GreedyAnswer(loaded, Prose(100, 1) + end, 60),
              GreedyAnswer(loaded, Prose(100, 2) + end, 60));
  }
}

TEST_F(LlamaModelMaker, SomeHaveThreePositionsATokenAsImagesNeed) {
  for (const char* name : {"qwen2vl", "qwen35", "qwen3vl"}) {
    ASSERT_TRUE(Make(SmallShape(name), Path("m.gguf")));
    const llama_rope_type type = llama_model_rope_type(Load(Path("m.gguf")).model.get());
    EXPECT_TRUE(type == LLAMA_ROPE_TYPE_MROPE || type == LLAMA_ROPE_TYPE_IMROPE) << name;
  }
}

TEST_F(LlamaModelMaker, EachMemoryClassIsThere) {
  const auto load = [&](const std::string& name) {
    EXPECT_TRUE(Make(SmallShape(name), Path("m.gguf")));
    return Load(Path("m.gguf"));
  };
  for (const char* name : {"qwen35", "lfm2", "falcon-h1", "jamba", "granitehybrid", "nemotron_h"}) {
    EXPECT_TRUE(llama_model_is_hybrid(load(name).model.get())) << name;
  }
  EXPECT_TRUE(llama_model_is_recurrent(load("mamba2").model.get()));
  EXPECT_EQ(llama_model_n_swa(load("gemma3").model.get()), 64);
  EXPECT_EQ(llama_model_n_swa(load("gpt-oss").model.get()), 64);
  for (const char* name : {"llama", "qwen2vl", "qwen3", "qwen3vl"}) {
    const Loaded loaded = load(name);
    EXPECT_FALSE(llama_model_is_hybrid(loaded.model.get())) << name;
    EXPECT_FALSE(llama_model_is_recurrent(loaded.model.get())) << name;
    EXPECT_EQ(llama_model_n_swa(loaded.model.get()), 0) << name;
  }
}

TEST_F(LlamaModelMaker, ModelsWithHeadsLoadWithAndWithoutThem) {
  for (const std::string& name : KnownArchitecturesWithHeads()) {
    for (const float right : {-1.0F, 0.5F, 1.0F}) {
      SCOPED_TRACE(name + " " + std::to_string(right));
      ModelShape shape = SmallShape(name);
      shape.mtp = true;
      shape.mtp_right = right;
      const auto made = Make(shape, Path("m.gguf"));
      ASSERT_TRUE(made) << made.error().message;
      llama_model_params params = llama_model_default_params();
      const LlamaModelPtr without(llama_model_load_from_file(Path("m.gguf").c_str(), params));
      params.load_mtp = true;
      const LlamaModelPtr with(llama_model_load_from_file(Path("m.gguf").c_str(), params));
      ASSERT_TRUE(without != nullptr && with != nullptr);
      EXPECT_EQ(llama_model_n_layer_nextn(with.get()), 1);
    }
  }
}

TEST_F(LlamaModelMaker, TheSmallestOfEachArchitectureWorks) {
  for (const std::string& name : KnownArchitectures()) {
    SCOPED_TRACE(name);
    ModelShape shape;
    shape.architecture = name;
    shape.width = 32;
    shape.layers = name == "nemotron_h" ? 3 : 2;
    if (name != "mamba2") shape.ff = 32;
    const Result<WrittenModel> written = Make(shape, Path("m.gguf"), "q4_k");
    ASSERT_TRUE(written) << written.error().message;
    const Loaded loaded = Load(Path("m.gguf"));
    ASSERT_NE(loaded.context, nullptr);
    GreedyAnswer(loaded, Prose(200, 1), 2);
  }
}

TEST_F(LlamaModelMaker, TextBecomesOneTokenAByte) {
  ASSERT_TRUE(Make(SmallShape("llama"), Path("m.gguf")));
  const Loaded loaded = Load(Path("m.gguf"));
  ASSERT_NE(loaded.context, nullptr);
  // All characters of one and two bytes, two longer ones, and those that split text into words.
  std::string text = "It's 3:00 o'clock!!!!  \t\r\n\n \u20AC\U0001F600 e\u0301 <|im_end|>";
  for (int c = 0; c < 0x80; ++c) text += static_cast<char>(c);
  for (int c = 0x80; c < 0x800; ++c) {
    text += {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
  }
  const Tokens tokens = Tokenize(loaded, text, false);
  ASSERT_EQ(tokens.size(), text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    ASSERT_EQ(tokens[i], static_cast<unsigned char>(text[i])) << "at byte " << i;
  }
  for (Token token = 0; token < kByteTokens; ++token) {
    EXPECT_EQ(Piece(loaded, token, false), std::string(1, static_cast<char>(token)));
  }
}

TEST_F(LlamaModelMaker, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  ASSERT_TRUE(Make(SmallShape("llama"), Path("m.gguf")));
  const Loaded loaded = Load(Path("m.gguf"));
  ASSERT_NE(loaded.context, nullptr);
  EXPECT_EQ(Tokenize(loaded, "a\xFF", false), (Tokens{'a', 0xEF, 0xBF, 0xBD}));
}

TEST_F(LlamaModelMaker, SpecialTokensParse) {
  ASSERT_TRUE(Make(SmallShape("qwen35"), Path("m.gguf")));
  const Loaded loaded = Load(Path("m.gguf"));
  ASSERT_NE(loaded.context, nullptr);
  EXPECT_EQ(Tokenize(loaded, "<|im_start|>u\n<think>x</think><|im_end|><|endoftext|>", true),
            (Tokens{kTurnStartToken, 'u', '\n', kThinkStartToken, 'x', kThinkEndToken,
                    kTurnEndToken, kEndOfTextToken}));
  EXPECT_TRUE(llama_vocab_is_eog(loaded.vocab(), kTurnEndToken));
  EXPECT_EQ(llama_vocab_eos(loaded.vocab()), kTurnEndToken);
  EXPECT_FALSE(llama_vocab_get_add_bos(loaded.vocab()));
  EXPECT_EQ(Piece(loaded, kTurnEndToken, false), "");
  EXPECT_EQ(Piece(loaded, kTurnEndToken, true), "<|im_end|>");
  EXPECT_EQ(Piece(loaded, kThinkStartToken, false), "<think>");
  const char* chat_template = llama_model_chat_template(loaded.model.get(), nullptr);
  ASSERT_NE(chat_template, nullptr);
  EXPECT_EQ(std::string_view(chat_template), SyntheticChatTemplate());
}

TEST_F(LlamaModelMaker, SameSeedMakesTheSameBytes) {
  for (const char* name : {"qwen35", "gpt-oss"}) {
    ASSERT_TRUE(Make(SmallShape(name, 5), Path("one.gguf")));
    ASSERT_TRUE(Make(SmallShape(name, 5), Path("two.gguf")));
    ASSERT_TRUE(Make(SmallShape(name, 6), Path("three.gguf")));
    EXPECT_TRUE(ReadFile(Path("one.gguf")) == ReadFile(Path("two.gguf"))) << name;
    EXPECT_FALSE(ReadFile(Path("one.gguf")) == ReadFile(Path("three.gguf"))) << name;
  }
}

TEST_F(LlamaModelMaker, EveryNumberTypeLoadsAgain) {
  for (const std::string& quant : KnownQuants()) {
    SCOPED_TRACE(quant);
    const Result<WrittenModel> written = Make(SmallShape("qwen35"), Path(quant), quant);
    ASSERT_TRUE(written) << written.error().message;
    const Loaded loaded = Load(Path(quant));
    ASSERT_NE(loaded.context, nullptr);
    ExpectLetters(GreedyAnswer(loaded, Prose(100, 1), 20));
  }
  EXPECT_LT(fs::file_size(Path("q8_0")), fs::file_size(Path("f16")));
  EXPECT_LT(fs::file_size(Path("f16")), fs::file_size(Path("f32")));
  EXPECT_EQ(FilesInFolder(), KnownQuants().size());
}

TEST_F(LlamaModelMaker, UnknownNumberTypeListsTheKnownOnes) {
  const Result<WrittenModel> written = Make(SmallShape("llama"), Path("m.gguf"), "q9_9");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kNotFound);
  for (const std::string& quant : KnownQuants()) {
    EXPECT_NE(written.error().message.find(quant), std::string::npos) << quant;
  }
  EXPECT_EQ(FilesInFolder(), 0U);
}

TEST_F(LlamaModelMaker, UnwritablePathIsAnErrorAndLeavesNothing) {
  const Result<WrittenModel> nowhere = Make(SmallShape("llama"), Path("no/such/folder/m.gguf"));
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::kInvalidArgument);
  const Result<WrittenModel> folder = Make(SmallShape("llama"), folder_.string());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(FilesInFolder(), 0U);
}

TEST_F(LlamaModelMaker, RefusedMetadataSaysWhyAndLeavesTheOldFile) {
  std::ofstream(Path("m.gguf")) << "old";
  Result<ModelRecipe> recipe = MakeRecipe(SmallShape("llama"));
  ASSERT_TRUE(recipe);
  std::erase_if(recipe->metadata,
                [](const auto& entry) { return entry.first == "llama.block_count"; });
  const Result<WrittenModel> written = WriteModel(*recipe, Path("m.gguf"), WriteOptions());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(written.error().message.find("llama.block_count"), std::string::npos)
      << written.error().message;
  EXPECT_EQ(ReadFile(Path("m.gguf")), "old");
  EXPECT_EQ(FilesInFolder(), 1U);
}

}  // namespace
}  // namespace cairn::llama_model_maker_test
