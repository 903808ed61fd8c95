// The images and recordings of requests in the request log, and who may see their thumbnails.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/media/media_layouts.h"
#include "api/prompt/prompt_builder.h"
#include "api/record/request_log.h"
#include "testing/chat/test_templates.h"
#include "testing/engine/fake_engine.h"
#include "testing/media/fake_media.h"

namespace cairn::request_media_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr NamespaceId kClient = 3;
constexpr NamespaceId kOther = 4;

// A request log whose requests have got their slots.
struct Logged {
  Logged() {
    PromptOptions options;
    options.media = layouts.get();
    prompts = std::make_unique<PromptBuilder>(&engine, chat_template.get(), &answers, options);
    log.SetLog([this](std::string_view line, const Json& fields) {
      logged += std::string(line) + "\n" + fields.dump();
    });
  }

  std::shared_ptr<RequestRecord> Add(const std::string& id, const Conversation& talk) {
    auto prompt = prompts->Prepare(talk, {.name_space = kClient});
    EXPECT_TRUE(prompt.has_value()) << prompt.error().message;
    ReuseReport report;
    report.prompt_tokens = prompt->tokens.size();
    auto record =
        log.Begin({id, "/test", kClient, 0}, prompts->Explain(*std::move(prompt)), &engine);
    record->OnReport(report);
    return record;
  }
  // The status of an attempt to read a thumbnail.
  int Status(const std::string& id, const std::string& index, NamespaceId name_space) const {
    const auto thumbnail = log.FindThumbnail(id, index, name_space);
    return thumbnail ? 200 : thumbnail.error().status;
  }

  FakeEngine engine{FakeEngineOptions{}};
  std::unique_ptr<ChatTemplate> chat_template = Builtin("qwen");
  AnswerTokens answers{1 << 20};
  FakeMediaDecoder decoder;
  FakeMediaEncoder encoder;
  std::unique_ptr<MediaLayouts> layouts = std::make_unique<MediaLayouts>(&decoder, &encoder);
  std::unique_ptr<PromptBuilder> prompts;
  RequestLog log;
  std::string logged;
};

const std::shared_ptr<const Medium> kImage = FakeImage(40, 20, "cat");
const std::shared_ptr<const Medium> kRecording = FakeMedium(MediumKind::kAudio, 25, 25, "bird");

// `message` with a medium behind its text, and then `behind`.
Message With(Message message, const MediumPtr& medium, const std::string& behind) {
  AppendMarker(medium, &message.content, &message.media);
  message.content += behind;
  return message;
}

Conversation Talk() {
  return {.messages = {System("S"), With(User("See "), kImage, "."), Assistant("A cat."),
                       With(User("Hear "), kRecording, ".")}};
}

TEST(RequestMedia, AreToldWithTheirTokensAndTheirMessages) {
  Logged logged;
  const Json told = logged.Add("r1", Talk())->Told();
  ASSERT_EQ(told["media"].size(), 2U) << told.dump();
  const Json& image = told["media"][0];
  const Json& message = told["messages"][1];
  EXPECT_EQ(image["kind"], "image");
  EXPECT_EQ(image["part"], "messages[0].content[0]");
  EXPECT_EQ(image["message"], 1);
  EXPECT_EQ(image["begin"].get<int>(), message["begin"].get<int>() + 4) << "behind \"See \"";
  EXPECT_EQ(image["end"].get<int>(), message["end"].get<int>() - 1);
  EXPECT_EQ(image["end"].get<int>() - image["begin"].get<int>(), 42);
  EXPECT_EQ(image["width"], 40);
  EXPECT_EQ(image["height"], 20);
  EXPECT_EQ(image["thumbnail"], "/cairn/requests/r1/thumbnails/0");
  const Json& recording = told["media"][1];
  EXPECT_EQ(recording["kind"], "audio");
  EXPECT_EQ(recording["message"], 3);
  EXPECT_EQ(recording["seconds"], 2.5);
  EXPECT_FALSE(recording.contains("width"));
  EXPECT_FALSE(recording.contains("thumbnail"));
}

TEST(RequestMedia, AtTheEndsOfAMessageBelongToIt) {
  Logged logged;
  const Message twice = With(With(User(""), kImage, "and"), kImage, "");
  const Json told =
      logged.Add("r1", {.messages = {With(User(""), kImage, ""), Assistant("A cat."), twice}})
          ->Told();
  ASSERT_EQ(told["media"].size(), 3U) << told.dump();
  for (const size_t i : {0U, 1U, 2U}) EXPECT_EQ(told["media"][i]["message"], i == 0 ? 0 : 2) << i;
  EXPECT_EQ(told["messages"][2]["begin"], told["media"][1]["begin"]);
  EXPECT_EQ(told["messages"][2]["end"], told["media"][2]["end"]);
}

TEST(RequestMedia, AreLeftOutOfListsOfTheLogAndOfPromptsWithoutAny) {
  Logged logged;
  const auto record = logged.Add("r1", Talk());
  EXPECT_EQ(logged.log.List(kClient, 10).dump().find("media"), std::string::npos);
  record->OnEnd(RequestRecord::State::kDone, {});
  EXPECT_NE(logged.logged, "");
  EXPECT_EQ(logged.logged.find("media"), std::string::npos) << logged.logged;
  EXPECT_FALSE(logged.Add("r2", {.messages = {User("hi")}})->Told().contains("media"));
}

TEST(RequestMedia, HaveThumbnailsForTheirClientAlone) {
  Logged logged;
  logged.Add("r1", Talk());
  const auto thumbnail = logged.log.FindThumbnail("r1", "0", kClient);
  ASSERT_TRUE(thumbnail.has_value()) << thumbnail.error().message;
  EXPECT_EQ((*thumbnail)->at(1), 'P');
  EXPECT_EQ(logged.Status("r1", "0", kOther), 404);
  EXPECT_EQ(logged.log.FindThumbnail("r1", "0", kOther).error().message,
            logged.log.FindThumbnail("r1", "9", kOther).error().message)
      << "another client does not learn what there is";
}

TEST(RequestMedia, HaveNoThumbnailOfARecordingOrOfAnotherNumber) {
  Logged logged;
  logged.Add("r1", Talk());
  for (const char* index : {"1", "2", "-1", "", "x", "0x0", "99999999999999999999"}) {
    EXPECT_EQ(logged.Status("r1", index, kClient), 404) << index;
  }
  EXPECT_EQ(logged.Status("r2", "0", kClient), 404);
}

// A log of 1,000 requests would hold the thumbnails of 64,000 images.
TEST(RequestMedia, HoldNoThumbnailThatTheLayoutsHaveDropped) {
  Logged logged;
  const auto record = logged.Add("r1", Talk());
  logged.layouts = nullptr;
  EXPECT_EQ(logged.Status("r1", "0", kClient), 404);
  EXPECT_FALSE(record->Told()["media"][0].contains("thumbnail"));
  EXPECT_EQ(record->Told()["media"][0]["width"], 40);
}

}  // namespace
}  // namespace cairn::request_media_test
