#include "api/prompt/prompt_limit.h"

#include "testing/api/api_fixture.h"

namespace cairn {
namespace {

class PromptLimitTest : public ApiTest {
 protected:
  size_t FarTooLong() const { return engine_.context_tokens() * engine_.info().token_bytes_max; }
  std::string Chat(size_t bytes) const {
    return R"({"messages":[{"role":"user","content":")" + std::string(bytes, 'x') + "\"}]}";
  }
};

TEST_F(PromptLimitTest, RefusesWhatNoTokenizerCouldMakeFit) {
  const auto started = Start(Chat(FarTooLong()));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().status, 400);
  EXPECT_NE(started.error().message.find("at least 4096 tokens"), std::string::npos)
      << started.error().message;
  EXPECT_EQ(started.error().context_tokens, engine_.context_tokens());
}

TEST_F(PromptLimitTest, CountsExactlyWhatIsOnlyALittleTooLong) {
  const auto started = Start(Chat(5000));
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message.find("at least"), std::string::npos);
  EXPECT_GT(started.error().prompt_tokens, 5000u);
}

TEST_F(PromptLimitTest, CountsOnlyTextThatEveryTemplateKeeps) {
  Conversation conversation;
  conversation.messages.push_back({.role = Role::kSystem, .content = "1"});
  conversation.messages.push_back({.role = Role::kUser, .content = "22"});
  conversation.messages.push_back({.role = Role::kAssistant, .content = "333"});
  conversation.messages.push_back({.role = Role::kTool, .content = "4444"});
  EXPECT_EQ(PromptBytesMin(conversation), 6u);
}

TEST_F(PromptLimitTest, CountsNoMarkers) {
  const auto medium = MakeMedium(MediumKind::kImage, {1, 2, 3}, "");
  const std::string marker = MarkerOf(*medium);
  Conversation conversation;
  conversation.messages.push_back({.role = Role::kUser, .content = marker + "22" + marker});
  EXPECT_EQ(PromptBytesMin(conversation), 2 * marker.size() + 2) << "a text that looks like one";
  conversation.media = {medium};
  EXPECT_EQ(PromptBytesMin(conversation), 2u);
}

}  // namespace
}  // namespace cairn
