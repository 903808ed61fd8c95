// `cairn serve` with a projector (--mmproj): conversations with pictures, on made models of the
// memory classes and made projectors.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "media/image_size.h"
#include "served.h"
#include "testing/api/media_samples.h"
#include "testing/engine/test_models.h"
#include "testing/media/media_files.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::ReadTokens;

// Bytes of a message, which are as many tokens.
constexpr size_t kTextBytes = 150;

// A picture of colour noise.
Bytes Noise(uint32_t width, uint32_t height, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes lines;
  for (uint32_t y = 0; y < height; ++y) {
    lines.push_back(0);  // no filter
    for (uint32_t x = 0; x < 3 * width; ++x) lines.push_back(static_cast<uint8_t>(random()));
  }
  return test::PngOf(width, height, test::StoredZlib(lines));
}

Json ImagePart(const Bytes& file) {
  return {{"type", "image_url"},
          {"image_url", {{"url", "data:image/png;base64," + EncodeBase64(file)}}}};
}
Json TextPart(char letter) {
  return {{"type", "text"}, {"text", std::string(kTextBytes, letter)}};
}
Json Message(const std::string& role, Json content) {
  return {{"role", role}, {"content", std::move(content)}};
}

struct MediaModel {
  std::string architecture;
  std::string projector;
  // Rows of one of the pictures, at least.
  int rows_min = 0;
};

void PrintTo(const MediaModel& model, std::ostream* out) {
  *out << model.architecture << " with " << model.projector;
}

class MediaServed : public test::ServedTest, public ::testing::WithParamInterface<MediaModel> {
 protected:
  void ServeMedia(const Flags& flags = {}) {
    Serve(Join({"--mmproj", test::MadeProjector(GetParam().projector), "--cache-dir",
                files_ + "/cache", "-np", "2"},
               flags),
          test::MadeModel(GetParam().architecture));
  }
  double Encoded() const { return Metric("cairn_media_encoded_total"); }

  // A conversation of six turns; the first picture is in the first message, the second in the
  // third. The letters are those of the text before, between and behind the pictures.
  Json Talk(size_t turns, char before = 'a', char between = 'b', char behind = 'c') const {
    Json messages = Json::array({Message("system", std::string(kTextBytes, 's'))});
    for (size_t i = 0; i < turns; ++i) {
      if (i > 0) messages.push_back(Message("assistant", std::string(20, 'x')));
      if (i == 0) {
        messages.push_back(Message("user", {TextPart(before), ImagePart(first_)}));
      } else if (i == 2) {
        messages.push_back(Message("user", {TextPart(between), ImagePart(second_)}));
      } else {
        const char letter = i > 2 ? behind : 'n';
        messages.push_back(Message("user", Json::array({TextPart(letter)})));
      }
    }
    return {{"messages", messages}, {"max_tokens", 8}, {"temperature", 0}, {"logprobs", true}};
  }

  const Bytes first_ = Noise(256, 192, 1);
  const Bytes second_ = Noise(192, 256, 2);
};

// The tokens of a message, with the template's around it.
constexpr int kMessageTokens = static_cast<int>(kTextBytes) + 60;

TEST_P(MediaServed, SixTurnsPrefillEachPictureOnceAndEncodeItOnce) {
  ServeMedia();
  for (size_t turns = 1; turns <= 6; ++turns) {
    const Json reply = Ask(Talk(turns));
    if (turns == 1 || turns == 3) continue;  // a new picture
    EXPECT_LT(ReadTokens(reply), kMessageTokens + kNewTokensMax) << turns << " turns";
  }
  EXPECT_EQ(Encoded(), 2);
  // The same prompt again, with all pictures in it.
  EXPECT_LE(ReadTokens(Ask(Talk(6))), 64);
  EXPECT_EQ(Encoded(), 2);
}

TEST_P(MediaServed, EditsPrefillWhatIsBehindThemAndEncodeNothing) {
  ServeMedia();
  const int all = ReadTokens(Ask(Talk(5)));
  ASSERT_GT(all, 2 * GetParam().rows_min);
  const int behind = ReadTokens(Ask(Talk(5, 'a', 'b', 'C')));
  EXPECT_LT(behind, 2 * kMessageTokens + kNewTokensMax);
  const int between = ReadTokens(Ask(Talk(5, 'a', 'B', 'c')));
  EXPECT_LT(between, all - GetParam().rows_min - static_cast<int>(kTextBytes));
  EXPECT_GT(between, behind + GetParam().rows_min / 2);
  const int before = ReadTokens(Ask(Talk(5, 'A', 'b', 'c')));
  EXPECT_GT(before, between);
  EXPECT_LT(before, all);
  EXPECT_EQ(Encoded(), 2) << "each picture once, whatever changes around it";
}

TEST_P(MediaServed, AnswersAreThoseOfAColdPrefillAlsoAfterARestart) {
  const auto answer = [](const Json& reply) {
    std::string text = reply["choices"][0]["message"]["content"].get<std::string>();
    for (const Json& token : reply["choices"][0]["logprobs"]["content"]) {
      text += " " + token["logprob"].dump();
    }
    return text;
  };
  const std::vector<Json> asked = {Talk(1), Talk(3), Talk(5), Talk(5, 'a', 'B'), Talk(6)};
  std::vector<std::string> cold;
  ServeMedia({"--reuse", "exact"});
  for (Json body : asked) {
    body["cache_prompt"] = false;
    cold.push_back(answer(Ask(body)));
  }
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  std::filesystem::remove_all(files_ + "/cache");
  ServeMedia({"--reuse", "exact"});
  for (size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(answer(Ask(asked[i])), cold[i]) << i;
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeMedia({"--reuse", "exact"});
  for (size_t i = 0; i < asked.size(); ++i) {
    const Json reply = Ask(asked[i]);
    EXPECT_EQ(answer(reply), cold[i]) << i;
    EXPECT_LT(ReadTokens(reply), kMessageTokens + kNewTokensMax) << i;
  }
  EXPECT_EQ(Encoded(), 0) << "all states came from disk";
}

TEST_P(MediaServed, ANextTurnAfterARestartEncodesNothing) {
  ServeMedia();
  Ask(Talk(4));
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeMedia();
  EXPECT_LT(ReadTokens(Ask(Talk(5))), 2 * kMessageTokens + kNewTokensMax);
  EXPECT_EQ(Encoded(), 0);
}

TEST_P(MediaServed, AnEditBeforeThePicturesAfterARestartEncodesNothing) {
  ServeMedia();
  Ask(Talk(5));
  EXPECT_EQ(Encoded(), 2);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeMedia();
  EXPECT_GT(ReadTokens(Ask(Talk(5, 'A'))), 2 * GetParam().rows_min);
  EXPECT_EQ(Encoded(), 0) << "the rows of both came from disk";
  EXPECT_EQ(Metric("cairn_media_loaded_total"), 2);
}

TEST_P(MediaServed, ABrokenFileOfRowsIsAMissAndThePictureIsEncodedAgain) {
  ServeMedia();
  const std::string answer = Ask(Talk(5))["choices"][0]["message"].dump();
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  for (const auto& file : std::filesystem::recursive_directory_iterator(files_ + "/cache")) {
    if (file.path().extension() != ".cairn") continue;
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 100);
  }
  ServeMedia();
  EXPECT_EQ(Ask(Talk(5))["choices"][0]["message"].dump(), answer);
  EXPECT_EQ(Encoded(), 2);
  EXPECT_EQ(Metric("cairn_media_loaded_total"), 0);
}

TEST_P(MediaServed, ABrokenPictureIsRefusedWithItsPlaceAndTheServerGoesOn) {
  ServeMedia();
  Json body = Talk(1);
  Bytes broken = first_;
  broken.resize(broken.size() / 2);
  body["messages"][1]["content"][1] = ImagePart(broken);
  const HttpReply reply = Post("/v1/chat/completions", body);
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("messages[1].content[1]"), std::string::npos) << reply.body;
  EXPECT_GT(ReadTokens(Ask(Talk(1))), 0);
}

Json TextPrompt(const std::string& text, const std::vector<Bytes>& pictures) {
  Json data = Json::array();
  for (const Bytes& picture : pictures) data.push_back(EncodeBase64(picture));
  return {{"prompt", {{"prompt_string", text}, {"multimodal_data", data}}},
          {"n_predict", 8},
          {"temperature", 0}};
}

TEST_P(MediaServed, CompletionsPrefillEachPictureOnceAndEncodeItOnce) {
  ServeMedia();
  const auto ask = [&](const std::string& text, const std::vector<Bytes>& pictures) {
    const HttpReply reply = Post("/completion", TextPrompt(text, pictures));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.status == 200 ? ReadTokens(Json::parse(reply.body)) : 0;
  };
  const std::string before = std::string(kTextBytes, 'a') + "<__media__>";
  const std::string one = before + std::string(kTextBytes, 'b');
  const int all = ask(one, {first_});
  EXPECT_GT(all, 2 * static_cast<int>(kTextBytes));
  EXPECT_LT(ask(one + "more", {first_}), kNewTokensMax) << "a text that goes on";
  EXPECT_LT(ask(before + std::string(kTextBytes, 'B'), {first_}),
            static_cast<int>(kTextBytes) + kNewTokensMax)
      << "another text behind the picture";
  EXPECT_EQ(Encoded(), 1);
  EXPECT_GT(ask(one, {second_}), static_cast<int>(kTextBytes)) << "another picture";
  EXPECT_EQ(Encoded(), 2);
  ask(one + "<__media__>", {first_, second_});
  EXPECT_EQ(Encoded(), 2);
}

TEST_P(MediaServed, APromptOfTheTemplateIsTheOneOfTheChat) {
  ServeMedia();
  Ask(Talk(3));
  const HttpReply applied = Post("/apply-template", Talk(3));
  ASSERT_EQ(applied.status, 200) << applied.body;
  const std::string prompt = Json::parse(applied.body)["prompt"].get<std::string>();
  const HttpReply reply = Post("/completion", TextPrompt(prompt, {first_, second_}));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_LE(ReadTokens(Json::parse(reply.body)), 64);
  EXPECT_EQ(Encoded(), 2);
}

TEST_P(MediaServed, ABrokenPictureOfACompletionIsRefusedWithItsPlaceAndTheServerGoesOn) {
  ServeMedia();
  Bytes broken = first_;
  broken.resize(broken.size() / 2);
  const std::string text = "<__media__>" + std::string(kTextBytes, 'a') + "<__media__>";
  const HttpReply refused = Post("/completion", TextPrompt(text, {first_, broken}));
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("prompt.multimodal_data[1]"), std::string::npos) << refused.body;
  EXPECT_EQ(Post("/completion", TextPrompt(text, {first_})).status, 400) << "two markers, one item";
  EXPECT_EQ(Post("/completion", TextPrompt(text, {first_, second_})).status, 200);
}

// A request of each API whose picture is `file`.
std::vector<std::pair<std::string, Json>> RequestsWith(const Bytes& file) {
  const std::string base64 = EncodeBase64(file);
  const Json block = {
      {"type", "image"},
      {"source", {{"type", "base64"}, {"media_type", "image/png"}, {"data", base64}}}};
  const Json input = {{"type", "input_image"}, {"image_url", "data:image/png;base64," + base64}};
  return {
      {"/v1/chat/completions",
       {{"messages", {Message("user", Json::array({ImagePart(file)}))}}, {"max_tokens", 1}}},
      {"/v1/messages", {{"messages", {Message("user", Json::array({block}))}}, {"max_tokens", 1}}},
      {"/v1/responses",
       {{"input", {Message("user", Json::array({input}))}}, {"max_output_tokens", 1}}},
      {"/completion",
       {{"prompt",
         {{"prompt_string", "an image in base64: <__media__>"},
          {"multimodal_data", Json::array({base64})}}},
        {"n_predict", 1}}}};
}

size_t ResidentKib(int pid) {
  const std::string status =
      ReadFile("/proc/" + std::to_string(pid) + "/status").value_or(std::string());
  const size_t found = status.find("VmRSS:");
  return found == std::string::npos ? 0 : std::stoul(status.substr(found + 6));
}

class BrokenMediaServed : public test::ServedTest {};

TEST_F(BrokenMediaServed, AThousandBrokenPicturesAndPartsAreRefusedAndCostNoMemory) {
  constexpr int kRequests = 1000;
  constexpr size_t kGrowthKibMax = 64 << 10;
  // Some of the pictures can be decoded, and the cache keeps their prompts.
  Serve({"--mmproj", test::MadeProjector("qwen3vl_merger"), "--cache-ram", "16"},
        test::MadeModel("qwen35"));
  const Bytes good = Noise(64, 64, 3);
  std::mt19937 random(1);
  size_t resident_kib = 0;
  for (int i = 0; i < kRequests; ++i) {
    Bytes file = good;
    for (int change = 0; change < 1 + i % 5; ++change) {
      file[random() % file.size()] = static_cast<uint8_t>(random());
    }
    if (i % 3 == 0) file.resize(random() % file.size());
    const auto requests = RequestsWith(file);
    auto [path, body] = requests[static_cast<size_t>(i) % requests.size()];
    std::string text = body.dump();
    // Parts of another shape.
    if (i % 7 == 0) text.replace(text.find("image"), 5, "imaqe");
    if (i % 11 == 0) text.replace(text.find("base64"), 6, "base32");
    const auto reply = ClientOf("").Post(path, text);
    ASSERT_TRUE(reply.has_value()) << i << ": " << reply.error().message;
    EXPECT_LT(reply->status, 500) << i << ": " << reply->body;
    if (i == kRequests / 4) resident_kib = ResidentKib(server_->pid());
  }
  EXPECT_LT(ResidentKib(server_->pid()), resident_kib + kGrowthKibMax);
  const auto [path, body] = RequestsWith(good).front();
  EXPECT_EQ(Post(path, body).status, 200) << server_->LastLines();
}

class ThumbnailServed : public test::ServedTest {};

TEST_F(ThumbnailServed, OfAPictureIsSeenWithTheKeyOfItsRequestAlone) {
  Serve({"--mmproj", test::MadeProjector("qwen3vl_merger"), "--api-key", "anna,bert"},
        test::MadeModel("qwen35"));
  const Json body = {
      {"messages", {Message("user", {TextPart('a'), ImagePart(test::RedBluePng(320, 160))})}},
      {"max_tokens", 1},
      {"cairn", {{"explain", true}}}};
  const HttpReply asked = Post("/v1/chat/completions", body, "anna");
  ASSERT_EQ(asked.status, 200) << asked.body;
  const Json told = Json::parse(asked.body)["cairn"];
  ASSERT_EQ(told["media"].size(), 1U) << asked.body;
  const Json& picture = told["media"][0];
  EXPECT_EQ(picture["kind"], "image");
  EXPECT_EQ(picture["part"], "messages[0].content[1]");
  EXPECT_EQ(picture["message"], 0);
  EXPECT_EQ(picture["width"], 320);
  EXPECT_GE(picture["begin"].get<size_t>(),
            told["messages"][0]["begin"].get<size_t>() + kTextBytes);
  EXPECT_LE(picture["end"].get<int>(), told["prompt_tokens"].get<int>());
  const auto path = picture["thumbnail"].get<std::string>();
  const HttpReply seen = Get(path, "anna");
  ASSERT_EQ(seen.status, 200) << seen.body;
  EXPECT_EQ(ReadImageSize(BytesOf(seen.body)), (ImageSize{ImageFormat::kPng, 96, 48}));
  EXPECT_EQ(Get(path, "bert").status, 404);
  EXPECT_EQ(Get(path).status, 401);
  // The same file of another client is a picture of its own request.
  const Json of_bert = Json::parse(Post("/v1/chat/completions", body, "bert").body)["cairn"];
  EXPECT_EQ(Get(of_bert["media"][0]["thumbnail"].get<std::string>(), "bert").body, seen.body);
  EXPECT_EQ(Get(of_bert["media"][0]["thumbnail"].get<std::string>(), "anna").status, 404);
}

INSTANTIATE_TEST_SUITE_P(OfEveryMemory, MediaServed,
                         ::testing::Values(MediaModel{"qwen35", "qwen3vl_merger", 48},
                                           MediaModel{"gemma3", "gemma3", 16},
                                           MediaModel{"llama", "lfm2", 20},
                                           MediaModel{"lfm2", "lfm2", 20}),
                         [](const auto& test) { return test.param.architecture; });

}  // namespace
}  // namespace cairn
