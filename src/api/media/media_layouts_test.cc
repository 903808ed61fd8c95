#include "api/media/media_layouts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/prompt/prompt_builder.h"
#include "media/image_size.h"
#include "media/media_tokens.h"
#include "testing/chat/test_templates.h"
#include "testing/engine/fake_engine.h"
#include "testing/media/fake_media.h"

namespace cairn::media_layouts_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

// Counts the files that are decoded.
class CountingDecoder final : public MediaDecoder {
 public:
  Result<DecodedMedium> Decode(const Medium& medium) override {
    ++decoded;
    return decoder_.Decode(medium);
  }
  int decoded = 0;

 private:
  FakeMediaDecoder decoder_;
};

struct Built {
  PreparedPrompt Prepare(const Conversation& talk) {
    auto prompt = prompts.Prepare(talk, {.name_space = 1});
    EXPECT_TRUE(prompt.has_value()) << prompt.error().message;
    return prompt.value_or(PreparedPrompt{});
  }
  PromptOptions Options() {
    PromptOptions options;
    options.media = &layouts;
    return options;
  }

  FakeEngine engine{FakeEngineOptions{}};
  std::unique_ptr<ChatTemplate> chat_template = Builtin("qwen");
  AnswerTokens answers{1 << 20};
  CountingDecoder decoder;
  FakeMediaEncoder encoder;
  MediaLayouts layouts{&decoder, &encoder};
  PromptBuilder prompts{&engine, chat_template.get(), &answers, Options()};
};

// "U <cat>", an image behind a text.
Message WithImages(std::string text, const MediumPtr& image, size_t count = 1) {
  Message message = User(std::move(text));
  for (size_t i = 0; i < count; ++i) AppendMarker(image, &message.content, &message.media);
  return message;
}

// "U <cat> V", with an image in the message.
Conversation WithImage(const MediumPtr& image) {
  Conversation talk{.messages = {System("S"), WithImages("U ", image), Assistant("A"), User("W")}};
  talk.messages[1].content += " V";
  return talk;
}

TEST(MediaLayouts, PutTheTokensOfAnImageInPlaceOfItsMarker) {
  Built built;
  const auto image = FakeImage(20, 5, "cat");
  const PreparedPrompt prompt = built.Prepare(WithImage(image));
  ASSERT_EQ(prompt.media.size(), 1U);
  const PlacedMedium& placed = prompt.media.front();
  ASSERT_EQ(placed.rows.size(), 1U);
  const TokenRange rows = placed.rows.front();
  EXPECT_EQ(MediaIn(prompt.tokens), (std::vector<MediumRange>{{rows.begin, rows.end, 5}}));
  EXPECT_EQ(rows.end - rows.begin, 20U);
  EXPECT_EQ(prompt.tokens[placed.begin], '[') << "the token before the rows";
  EXPECT_EQ(prompt.tokens[placed.end - 1], ']');
  std::string before;
  for (size_t i = 0; i < placed.begin; ++i) before += built.engine.Piece(prompt.tokens[i], true);
  EXPECT_TRUE(before.ends_with("U ")) << before;
  EXPECT_EQ(built.engine.Piece(prompt.tokens[placed.end], true), " ");
}

TEST(MediaLayouts, LeaveTheShapeBehindAnImageKnown) {
  Built built;
  const PreparedPrompt prompt = built.Prepare(WithImage(FakeImage(20, 5, "cat")));
  const PromptShape& shape = prompt.shape;
  Conversation plain = WithImage(FakeImage(20, 5, "cat"));
  plain.messages[1] = User("U ? V");
  const PromptShape without = built.Prepare(plain).shape;
  const PlacedMedium& placed = prompt.media.front();
  const size_t more = placed.end - placed.begin - 1;  // than the character in its place
  ASSERT_EQ(shape.turns.size(), 2U);
  EXPECT_EQ(shape.turns[0].position, without.turns[0].position);
  EXPECT_EQ(shape.turns[1].position, without.turns[1].position + more);
  EXPECT_EQ(shape.messages_end, without.messages_end + more);
  EXPECT_EQ(shape.media, placed.rows);
}

TEST(MediaLayouts, LeaveTheEndOfAMessageBehindItsImage) {
  Built built;
  const auto image = FakeImage(20, 5, "cat");
  const Conversation talk{.messages = {System("S"), WithImages("U ", image)}};
  const PreparedPrompt prompt = built.Prepare(talk);
  const PlacedMedium& placed = prompt.media.front();
  EXPECT_EQ(prompt.shape.messages_end, placed.end + 2) << "behind <|im_end|> and a line break";
  const std::string& text = prompt.text.text;
  const size_t marker = text.find(MarkerOf(*image));
  ASSERT_NE(prompt.map, nullptr);
  EXPECT_EQ(prompt.map->PositionAt(marker), placed.begin);
  EXPECT_EQ(prompt.map->PositionAt(marker + 1), placed.begin) << "rounded down";
  EXPECT_EQ(prompt.map->PositionAt(marker + MarkerOf(*image).size()), placed.end);
}

TEST(MediaLayouts, DecodeAFileOnceHoweverOftenItIsSent) {
  Built built;
  const Tokens first = built.Prepare(WithImage(FakeImage(20, 5, "cat"))).tokens;
  EXPECT_EQ(built.Prepare(WithImage(FakeImage(20, 5, "cat"))).tokens, first);
  EXPECT_EQ(built.decoder.decoded, 1);
  EXPECT_NE(built.Prepare(WithImage(FakeImage(20, 5, "dog"))).tokens, first);
  EXPECT_EQ(built.decoder.decoded, 2);
}

TEST(MediaLayouts, RefuseAnImageThatIsBrokenOrTooSmallAndSayWhich) {
  Built built;
  const auto refused = [&](const std::shared_ptr<const Medium>& image) {
    const auto prompt = built.prompts.Prepare(WithImage(image), {.name_space = 1});
    return prompt ? std::string() : prompt.error().message;
  };
  EXPECT_EQ(refused(MakeMedium(MediumKind::kImage, Bytes{'b', 'a', 'd'}, "messages[1].content[0]")),
            "messages[1].content[0]: the image is broken");
  EXPECT_NE(refused(FakeImage(3, 3, "dot")).find("too small"), std::string::npos);
}

TEST(MediaLayouts, HaveAThumbnailOfAnImageWithoutDecodingItAgain) {
  Built built;
  const auto preview = [&] {
    return built.Prepare(WithImage(FakeImage(200, 100, "cat"))).media.front().preview;
  };
  const MediumPreview first = preview();
  EXPECT_EQ(first.width, 200U);
  EXPECT_EQ(first.height, 100U);
  const auto thumbnail = first.thumbnail.lock();
  ASSERT_NE(thumbnail, nullptr);
  EXPECT_EQ(ReadImageSize(*thumbnail), (ImageSize{ImageFormat::kPng, 96, 48}));
  EXPECT_EQ(preview().thumbnail.lock(), thumbnail);
  EXPECT_EQ(built.decoder.decoded, 1);
}

TEST(MediaLayouts, HaveTheLengthOfARecordingAndNoThumbnail) {
  Built built;
  const auto layout = built.layouts.Of(*FakeMedium(MediumKind::kAudio, 25, 25, "bird"), 0);
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ((*layout)->preview.seconds, 2.5);
  EXPECT_EQ((*layout)->preview.width, 0U);
  EXPECT_EQ((*layout)->preview.thumbnail.lock(), nullptr);
}

TEST(MediaLayouts, AreKeptWithinABoundOfBytes) {
  CountingDecoder decoder;
  FakeMediaEncoder encoder;
  // A thumbnail of noise takes some 28 KiB.
  MediaLayouts layouts(&decoder, &encoder, size_t{70} << 10U);
  const auto thumbnail = [&](const std::string& name) {
    const auto layout = layouts.Of(*FakeImage(96, 96, name), 0);
    return layout ? (*layout)->preview.thumbnail : std::weak_ptr<const Bytes>();
  };
  const auto a = thumbnail("a");
  const auto b = thumbnail("b");
  EXPECT_FALSE(a.expired());
  thumbnail("a");  // is used again
  const auto c = thumbnail("c");
  EXPECT_FALSE(a.expired());
  EXPECT_TRUE(b.expired()) << "the least recently used one";
  EXPECT_FALSE(c.expired());
  EXPECT_EQ(decoder.decoded, 3);
  EXPECT_FALSE(thumbnail("b").expired()) << "it is laid out again";
  EXPECT_EQ(decoder.decoded, 4);
}

// A client knows the marker of its own image, and may write it into any text that is rendered.
TEST(MediaLayouts, NoTextBecomesAMediumWhereverItsMarkerIsWritten) {
  Built built;
  const auto image = FakeImage(20, 5, "cat");
  const std::string marker = MarkerOf(*image);
  EXPECT_TRUE(built.Prepare({.messages = {User(marker)}}).media.empty());
  Message call{.role = Role::kAssistant, .reasoning = marker};
  call.tool_calls = {{.id = marker, .name = "f", .arguments = R"({"a":")" + marker + "\"}"}};
  const Conversation talk{
      .messages = {System(marker),
                   WithImages(marker, image),
                   Assistant(marker),
                   User(marker),
                   call,
                   {.role = Role::kTool, .content = marker, .tool_call_id = marker}},
      .tools = *Tools::Parse(R"([{"type":"function","function":{"name":"f","description":")" +
                             marker + "\"}}]")};
  const PreparedPrompt prompt = built.Prepare(talk);
  ASSERT_EQ(prompt.media.size(), 1U);
  EXPECT_EQ(MediaIn(prompt.tokens).size(), 1U);
  EXPECT_EQ(prompt.text.media.front().begin,
            prompt.text.text.find(marker + marker) + marker.size());
}

TEST(MediaLayouts, StopWhereTheirTokensReachTheContext) {
  FakeEngineOptions options;
  options.context_tokens = 100;
  Built built;
  const FakeEngine engine(options);
  const PromptBuilder prompts(&engine, built.chat_template.get(), &built.answers, built.Options());
  const auto image = FakeImage(20, 5, "cat");  // 22 tokens
  const Conversation talk{.messages = {WithImages("", image, 4000)}};
  const auto refused = prompts.Prepare(talk, {.name_space = 1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().status, 400);
  EXPECT_EQ(refused.error().context_tokens, 100U);
  EXPECT_EQ(refused.error().prompt_tokens, 110U) << "of the five that were looked at";
}

}  // namespace
}  // namespace cairn::media_layouts_test
