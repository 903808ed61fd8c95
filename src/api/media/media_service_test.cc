// Tests that the service's rules for images and recordings reach every request that has messages.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "api/admin/cache_api.h"
#include "api/anthropic/anthropic.h"
#include "api/llama_server/model_catalog.h"
#include "api/llama_server/native.h"
#include "testing/api/api_fixture.h"
#include "testing/api/media_samples.h"

namespace cairn::media_service_test {
namespace {

using test::PngUrl;

class MediaServiceTest : public ApiTest {
 protected:
  static std::string Chat() {
    return R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"},
               {"type":"image_url","image_url":{"url":")" +
           PngUrl() + R"("}}]}]})";
  }
  static std::string Messages() {
    return R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"},
               {"type":"image","source":{"type":"url","url":")" +
           PngUrl() + R"("}}]}]})";
  }
  static std::string Responses() {
    return R"({"input":[{"role":"user","content":[{"type":"input_text","text":"x"},
               {"type":"input_image","image_url":")" +
           PngUrl() + R"("}]}]})";
  }
  // Every answer that parses messages, but for the generated ones.
  static std::vector<ApiResult<std::string>> Answers(const ChatService& service) {
    return {ApplyTemplateBody(service, Chat()), ChatInputTokensBody(service, Chat(), 0),
            CountTokensBody(service, Messages(), 0),
            ResponsesInputTokensBody(service, Responses(), 0, nullptr),
            PrefetchBody(service, Chat(), 0, [] { return false; })};
  }
  static ChatServiceOptions Taking() {
    ChatServiceOptions options;
    options.media = test::TakingRules();
    return options;
  }

  const ChatService taking_{&engine_, template_.get(), &scheduler_, Taking()};
};

TEST_F(MediaServiceTest, RequestsWithImagesAreReadWhereTheRulesTakeThem) {
  for (const auto& answer : Answers(taking_)) {
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
  }
  const auto prompt = ApplyTemplateBody(taking_, Chat());
  ASSERT_TRUE(prompt.has_value());
  EXPECT_NE(prompt->find("x<__media__>"), std::string::npos) << *prompt;
}

TEST_F(MediaServiceTest, RequestsWithImagesAreRefusedElsewhere) {
  for (const auto& answer : Answers(service_)) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().status, 400);
    EXPECT_NE(answer.error().message.find(".content[1]"), std::string::npos);
    EXPECT_NE(answer.error().message.find(": this server takes no images: start it with --mmproj"),
              std::string::npos);
  }
}

TEST_F(MediaServiceTest, ClientsAreToldWhatTheServerTakes) {
  const Json props = Json::parse(PropsBody(taking_, {}, {}));
  EXPECT_EQ(props["modalities"], Json::parse(R"({"vision":true,"audio":true})"));
  EXPECT_EQ(props["media_marker"], "<__media__>");
  const Json models = Json::parse(ModelsBody(taking_, {}));
  EXPECT_EQ(models["data"][0]["architecture"]["input_modalities"],
            Json::parse(R"(["text","image","audio"])"));
  EXPECT_EQ(models["models"][0]["input_modalities"], Json::parse(R"(["text","image"])"));
  EXPECT_EQ(models["models"][0]["capabilities"],
            Json::parse(R"(["completion","tools","multimodal"])"));
}

}  // namespace
}  // namespace cairn::media_service_test
