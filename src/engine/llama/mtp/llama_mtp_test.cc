// Heads for multi-token prediction on the real libllama, with made models.

#include "engine/llama/mtp/llama_mtp.h"

#include <gguf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/llama/heads/mtp_context.h"
#include "engine/llama/llama_engine.h"
#include "testing/engine/llama_fixture.h"
#include "testing/engine/test_models.h"

namespace cairn {
namespace {

constexpr size_t kPromptTokens = 150;
constexpr size_t kDrafted = 6;

LlamaOptions WithHeads(const std::string& path, size_t slots = 3) {
  LlamaOptions options = test::SmallOptions(path);
  options.slots = slots;
  options.mtp = LlamaOptions::Mtp::kOn;
  return options;
}

std::unique_ptr<LlamaEngine> Load(const LlamaOptions& options) {
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

Token Likeliest(std::span<const float> logits) {
  return static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// Decodes `count` greedy tokens of sequence `seq`, the first of which is `next`. Returns them.
Tokens Answer(Engine* engine, SeqId seq, size_t position, Token next, size_t count) {
  Tokens answer;
  for (; answer.size() < count; ++position) {
    answer.push_back(next);
    const NextToken token = {seq, position, next};
    EXPECT_TRUE(engine->DecodeEach({&token, 1}).has_value());
    next = Likeliest(engine->LogitsOf(0));
  }
  return answer;
}

// Reads a prompt into sequence 0, in chunks, and returns the token after it.
Token ReadPrompt(Engine* engine, const Tokens& prompt) {
  test::Read(engine, prompt, 0, prompt.size());
  return Likeliest(engine->Logits());
}

class LlamaMtpHeads : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tried, LlamaMtpHeads, testing::ValuesIn({"glm4moe", "qwen35"}));

TEST_P(LlamaMtpHeads, ThatAreRightDraftWhatTheModelSays) {
  const auto engine = Load(WithHeads(test::MadeModelWithHead(GetParam(), 1)));
  ASSERT_NE(engine, nullptr);
  ASSERT_NE(engine->mtp_heads(), nullptr);
  const Tokens prompt = test::RandomPrompt(kPromptTokens, 1);
  Token next = ReadPrompt(engine.get(), prompt);
  size_t right = 0;
  constexpr size_t kTimes = 40;
  for (size_t at = kPromptTokens; at < kPromptTokens + kTimes; ++at) {
    const Tokens draft = engine->mtp_heads()->Draft(0, next, 1, 0);
    ASSERT_EQ(draft.size(), 1U);
    next = Answer(engine.get(), 0, at, next, 1).empty() ? 0 : Likeliest(engine->LogitsOf(0));
    right += draft.front() == next ? 1 : 0;
    EXPECT_EQ(engine->mtp_heads()->KnownTokens(0), at + 1);
  }
  EXPECT_GT(right, kTimes / 2);
}

TEST_P(LlamaMtpHeads, ChangeNoTokenOfTheModel) {
  const std::string path = test::MadeModelWithHead(GetParam());
  LlamaOptions without = WithHeads(path);
  without.mtp = LlamaOptions::Mtp::kOff;
  const auto plain = Load(without);
  const auto engine = Load(WithHeads(path));
  ASSERT_TRUE(plain != nullptr && engine != nullptr);
  EXPECT_EQ(plain->mtp_heads(), nullptr);
  const Tokens prompt = test::RandomPrompt(kPromptTokens, 2);
  Token next = ReadPrompt(engine.get(), prompt);
  const Token expected_next = ReadPrompt(plain.get(), prompt);
  ASSERT_EQ(next, expected_next);
  const Tokens expected = Answer(plain.get(), 0, kPromptTokens, next, 60);
  Tokens answer;
  while (answer.size() < 60) {
    engine->mtp_heads()->Draft(0, next, kDrafted, 0);
    answer.push_back(next);
    Answer(engine.get(), 0, kPromptTokens + answer.size() - 1, next, 1);
    next = Likeliest(engine->LogitsOf(0));
  }
  EXPECT_EQ(answer, expected);
  // Their states are of another kind.
  EXPECT_NE(*plain->StateIdentity(), *engine->StateIdentity());
}

// A draft of random heads depends on all that they know: their KV, and the row behind the text.
TEST_P(LlamaMtpHeads, KnowARestoredTextAsIfItHadNotGone) {
  const std::string path = test::MadeModelWithHead(GetParam());
  const auto engine = Load(WithHeads(path));
  ASSERT_NE(engine, nullptr);
  const Tokens prompt = test::RandomPrompt(kPromptTokens, 3);
  const Token next = ReadPrompt(engine.get(), prompt);
  const Tokens answer = Answer(engine.get(), 0, kPromptTokens, next, 10);
  const size_t end = kPromptTokens + 10;
  Bytes snapshot;
  if (engine->traits().NeedsSnapshots()) snapshot = *engine->TakeSnapshot(0);
  const Bytes front = *engine->TakeSegment(0, 0, 64);
  const Bytes back = *engine->TakeSegment(0, 64, end);
  const Tokens expected = engine->mtp_heads()->Draft(0, 'H', kDrafted, 0);
  ASSERT_EQ(expected.size(), kDrafted);
  const std::vector<SegmentPart> parts = {{0, 64, front}, {64, end, back}};
  const auto again = Load(WithHeads(path));  // as after a restart
  ASSERT_NE(again, nullptr);
  for (LlamaEngine* const other : {engine.get(), again.get()}) {
    const Status assembled = other->Assemble(1, 0, parts, end, snapshot);
    ASSERT_TRUE(assembled.has_value()) << assembled.error().message;
    EXPECT_EQ(other->mtp_heads()->KnownTokens(1), end);
    EXPECT_EQ(other->mtp_heads()->Draft(1, 'H', kDrafted, 0), expected);
    ASSERT_TRUE(other->Fork(1, 2, end, snapshot).has_value());
    EXPECT_EQ(other->mtp_heads()->KnownTokens(2), end);
    EXPECT_EQ(other->mtp_heads()->Draft(2, 'H', kDrafted, 0), expected);
  }
  const Bytes whole = *engine->TakeFullState(0);
  ASSERT_TRUE(again->SetFullState(0, end, whole).has_value());
  EXPECT_EQ(again->mtp_heads()->KnownTokens(0), end);
  EXPECT_EQ(again->mtp_heads()->Draft(0, 'H', kDrafted, 0), expected);
}

TEST_P(LlamaMtpHeads, KnowTheTextThatIsLeftAfterTokensWereDropped) {
  const auto engine = Load(WithHeads(test::MadeModelWithHead(GetParam())));
  ASSERT_NE(engine, nullptr);
  const Tokens prompt = test::RandomPrompt(kPromptTokens, 4);
  ReadPrompt(engine.get(), prompt);
  const Bytes snapshot = engine->traits().NeedsSnapshots() ? *engine->TakeSnapshot(0) : Bytes();
  // A draft that reads a prompt's end may differ in last bits from one that has nothing to read.
  engine->mtp_heads()->Draft(0, 'H', 1, 0);
  const Tokens expected = engine->mtp_heads()->Draft(0, 'H', kDrafted, 0);
  Answer(engine.get(), 0, kPromptTokens, 'X', 8);
  if (engine->traits().NeedsSnapshots()) {
    ASSERT_TRUE(engine->Restore(0, kPromptTokens, snapshot).has_value());
    EXPECT_EQ(engine->mtp_heads()->Draft(0, 'H', kDrafted, 0), expected);
  } else {
    ASSERT_TRUE(engine->Truncate(0, kPromptTokens).has_value());
    EXPECT_EQ(engine->mtp_heads()->Draft(0, 'H', kDrafted, 0), expected);
    ASSERT_TRUE(engine->Truncate(0, 40).has_value());
    EXPECT_EQ(engine->mtp_heads()->KnownTokens(0), 40U);
  }
  engine->Clear(0);
  EXPECT_EQ(engine->mtp_heads()->KnownTokens(0), 0U);
  EXPECT_TRUE(engine->mtp_heads()->Draft(0, 'H', kDrafted, 0).empty());
}

TEST_P(LlamaMtpHeads, BeginAgainWhereAStateHoldsNothingOfThem) {
  const std::string path = test::MadeModelWithHead(GetParam());
  const auto engine = Load(WithHeads(path));
  ASSERT_NE(engine, nullptr);
  const Tokens prompt = test::RandomPrompt(kPromptTokens, 5);
  const Token next = ReadPrompt(engine.get(), prompt);
  const auto model_only = [](const Bytes& bytes) {
    const ByteSpan model = SplitOffMtpPart(bytes).model;
    return Bytes(model.begin(), model.end());
  };
  const Bytes snapshot =
      engine->traits().NeedsSnapshots() ? model_only(*engine->TakeSnapshot(0)) : Bytes();
  const Bytes segment = model_only(*engine->TakeSegment(0, 0, kPromptTokens));
  const SegmentPart part = {0, kPromptTokens, segment};
  ASSERT_TRUE(engine->Assemble(1, 0, {&part, 1}, kPromptTokens, snapshot).has_value());
  EXPECT_EQ(engine->mtp_heads()->KnownTokens(1), 0U);
  const Tokens expected = Answer(engine.get(), 0, kPromptTokens, next, 20);
  Tokens answer;
  for (Token token = next; answer.size() < 20;) {
    EXPECT_EQ(engine->mtp_heads()->Draft(1, token, 3, 0).size(), 3U);
    answer.push_back(token);
    Answer(engine.get(), 1, kPromptTokens + answer.size() - 1, token, 1);
    token = Likeliest(engine->LogitsOf(0));
  }
  EXPECT_EQ(answer, expected);
  EXPECT_EQ(engine->mtp_heads()->KnownTokens(1), 20U);
}

TEST_P(LlamaMtpHeads, SleepAndWakeWithTheModel) {
  LlamaOptions options = WithHeads(test::MadeModelWithHead(GetParam()));
  options.may_sleep = true;
  const auto engine = Load(options);
  ASSERT_NE(engine, nullptr);
  const Tokens prompt = test::RandomPrompt(kPromptTokens, 6);
  ReadPrompt(engine.get(), prompt);
  const Tokens expected = engine->mtp_heads()->Draft(0, 'H', kDrafted, 0);
  ASSERT_TRUE(engine->Sleep().has_value());
  EXPECT_EQ(engine->mtp_heads(), nullptr);
  const Status awake = engine->Wake();
  ASSERT_TRUE(awake.has_value()) << awake.error().message;
  ReadPrompt(engine.get(), prompt);
  EXPECT_EQ(engine->mtp_heads()->Draft(0, 'H', kDrafted, 0), expected);
}

TEST(MtpHeads, StopAtATokenOfLittleProbability) {
  const auto engine = Load(WithHeads(test::MadeModelWithHead("qwen35")));
  ASSERT_NE(engine, nullptr);
  ReadPrompt(engine.get(), test::RandomPrompt(kPromptTokens, 7));
  EXPECT_TRUE(engine->mtp_heads()->Draft(0, 'H', kDrafted, 0.999).empty());
  EXPECT_EQ(engine->mtp_heads()->Draft(0, 'H', kDrafted, 0).size(), kDrafted);
}

// The lines for people while a model is loaded.
std::string NotesOf(LlamaOptions options) {
  std::string notes;
  options.notes = [&](LogLevel, std::string_view line) { notes += std::string(line) + "\n"; };
  const auto engine = Load(options);
  EXPECT_EQ(engine->mtp_heads(), nullptr);
  return notes;
}

TEST(MtpHeads, ThatAreMissingLeaveTheModelAsItIsAndALineSaysSo) {
  EXPECT_NE(NotesOf(WithHeads(test::MadeModel("qwen35")))
                .find("no drafts by multi-token prediction: the model has no heads"),
            std::string::npos);
  LlamaOptions unasked = WithHeads(test::MadeModel("qwen35"));
  unasked.mtp = LlamaOptions::Mtp::kIfTried;
  EXPECT_EQ(NotesOf(unasked).find("multi-token"), std::string::npos);
}

// A file of metadata, and of tensors with the names given.
class HeadFile {
 public:
  explicit HeadFile(const std::string& architecture) : architecture_(architecture) {
    gguf_set_val_str(gguf_, "general.architecture", architecture.c_str());
  }
  ~HeadFile() { gguf_free(gguf_); }
  HeadFile(const HeadFile&) = delete;
  HeadFile& operator=(const HeadFile&) = delete;

  void Set(const char* key, uint32_t value) {
    gguf_set_val_u32(gguf_, (architecture_ + "." + key).c_str(), value);
  }
  void Add(const std::string& tensor) { tensors_.push_back(tensor); }
  // Why the heads are not used; empty: they are.
  std::string Complaint(bool only_tried = false) {
    ggml_init_params params = {(tensors_.size() + 1) * (ggml_tensor_overhead() + 64), nullptr,
                               false};
    ggml_context* const context = ggml_init(params);
    for (const std::string& name : tensors_) {
      ggml_tensor* const tensor = ggml_new_tensor_1d(context, GGML_TYPE_F32, 1);
      ggml_set_name(tensor, name.c_str());
      gguf_add_tensor(gguf_, tensor);
    }
    const std::string path = testing::TempDir() + "cairn_heads_" + architecture_ + ".gguf";
    EXPECT_TRUE(gguf_write_to_file(gguf_, path.c_str(), false));
    ggml_free(context);
    const Status checked = CheckMtpHeads(path, only_tried);
    std::remove(path.c_str());
    return checked ? "" : checked.error().message;
  }

 private:
  const std::string architecture_;
  gguf_context* const gguf_ = gguf_init_empty();
  std::vector<std::string> tensors_;
};

void AddWholeHead(HeadFile* file) {
  file->Set("block_count", 5);
  file->Set("nextn_predict_layers", 1);
  file->Set("embedding_length", 64);
  for (const char* part : {"eh_proj", "enorm", "hnorm"}) {
    file->Add("blk.4.nextn." + std::string(part) + ".weight");
  }
}

TEST(MtpHeads, AreUsedIfTheFileHasAllOfThem) {
  HeadFile whole("qwen35");
  AddWholeHead(&whole);
  EXPECT_EQ(whole.Complaint(), "");
}

TEST(MtpHeads, ThatLibllamaWouldAbortOnAreRefused) {
  HeadFile partial("qwen35");
  partial.Set("block_count", 5);
  partial.Set("nextn_predict_layers", 1);
  partial.Add("blk.4.nextn.eh_proj.weight");
  EXPECT_NE(partial.Complaint().find("there is no blk.4.nextn.enorm.weight"), std::string::npos);
  HeadFile several("step35");
  AddWholeHead(&several);
  several.Set("nextn_predict_layers", 3);
  EXPECT_NE(several.Complaint().find("has 3 heads"), std::string::npos);
  HeadFile wide("qwen35");
  AddWholeHead(&wide);
  wide.Set("embedding_length_out", 256);
  EXPECT_NE(wide.Complaint().find("256 wide"), std::string::npos);
  HeadFile alone("qwen35");
  AddWholeHead(&alone);
  alone.Set("block_count", 1);
  EXPECT_NE(alone.Complaint().find("without a model"), std::string::npos);
  HeadFile other("qwen4exp");
  AddWholeHead(&other);
  EXPECT_NE(other.Complaint().find("the heads of qwen4exp are not used"), std::string::npos);
  HeadFile untried("qwen3next");
  AddWholeHead(&untried);
  EXPECT_NE(untried.Complaint(true).find("with --spec-type auto"), std::string::npos);
}

}  // namespace
}  // namespace cairn
