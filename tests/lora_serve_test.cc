// `cairn serve --lora`: requests with different adapters run side by side, answer as servers of
// their own would, and never find each other's states: in memory, on disk, after a restart.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "lab/maker/llama_model_maker.h"
#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::NextTurn;
using test::ReadTokens;

// Scales of the two adapters.
struct Scales {
  double first = 0;
  double second = 0;
};

class LoraServeTest : public test::ServedTest {
 protected:
  LoraServeTest() {
    ModelShape shape;
    shape.architecture = "qwen35";
    const auto recipe = MakeRecipe(shape);
    for (size_t i = 0; i < adapters_.size(); ++i) {
      adapters_[i] = files_ + "/adapter" + std::to_string(i) + ".gguf";
      EXPECT_TRUE(WriteAdapter(*recipe, {.seed = i + 1}, adapters_[i]).has_value());
    }
  }
  // Slots with a stream each do not change one another's bits, so texts can be compared.
  static Flags Streams() { return {"--no-kv-unified", "-c", "16384"}; }
  Flags Both() const {
    return Join(Streams(),
                {"--lora", adapters_[0] + "," + adapters_[1], "--lora-init-without-apply"});
  }
  // A server that applies these scales to all requests, and no others.
  Flags Alone(const Scales& scales) const {
    return Join(Streams(),
                {"--lora-scaled", adapters_[0] + ":" + std::to_string(scales.first) + "," +
                                      adapters_[1] + ":" + std::to_string(scales.second)});
  }
  static Json With(Json body, const Scales& scales) {
    body["lora"] = {{{"id", 0}, {"scale", scales.first}}, {{"id", 1}, {"scale", scales.second}}};
    return body;
  }
  static std::string Text(const Json& reply) {
    return reply["choices"][0]["message"]["content"].text();
  }
  // The answers of two turns.
  struct Talk {
    Json first;
    Json second;
  };
  Talk Converse(const Scales& scales) const {
    Talk talk;
    talk.first = Ask(With(FirstTurn(), scales));
    talk.second = Ask(With(NextTurn(FirstTurn(), talk.first), scales));
    return talk;
  }

  std::array<std::string, 2> adapters_;
  const std::vector<Scales> sets_ = {{0, 0}, {1, 0}, {0, 1}, {0.5, 1}};
};

TEST_F(LoraServeTest, InterleavedSetsAnswerAsServersOfTheirOwn) {
  std::vector<Talk> alone;
  for (const Scales& scales : sets_) {
    Serve(Join(Alone(scales), {"--cache-disk", "0"}));
    Talk talk;
    talk.first = Ask(FirstTurn());
    talk.second = Ask(NextTurn(FirstTurn(), talk.first));
    alone.push_back(talk);
  }
  for (size_t i = 1; i < alone.size(); ++i) EXPECT_NE(Text(alone[i].first), Text(alone[0].first));

  Serve(Join(Both(), {"--cache-disk", "0"}));
  std::vector<Json> first;
  for (const Scales& scales : sets_) {
    first.push_back(Ask(With(FirstTurn(), scales)));
    EXPECT_EQ(Text(first.back()), Text(alone[first.size() - 1].first));
    // The same text with other adapters: nothing of it is known.
    EXPECT_GT(ReadTokens(first.back()), 1500);
  }
  for (size_t i = sets_.size(); i-- > 0;) {
    const Json second = Ask(With(NextTurn(FirstTurn(), first[i]), sets_[i]));
    EXPECT_EQ(Text(second), Text(alone[i].second)) << i;
    EXPECT_LE(ReadTokens(second), kNewTokensMax) << i;
  }
}

TEST_F(LoraServeTest, SetsThatRunTogetherAnswerAsAlone) {
  Serve(Join(Both(), {"--cache-disk", "0"}));
  std::vector<std::string> alone;
  for (const Scales& scales : sets_) {
    Json body = With(FirstTurn(40), scales);
    body["cache_prompt"] = false;
    alone.push_back(Text(Ask(body)));
  }
  std::vector<std::string> together(sets_.size());
  std::vector<std::thread> clients;
  for (size_t i = 0; i < sets_.size(); ++i) {
    clients.emplace_back([this, i, &together] {
      Json body = With(FirstTurn(40), sets_[i]);
      body["cache_prompt"] = false;
      together[i] = Text(Ask(body));
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(together, alone);
}

TEST_F(LoraServeTest, StatesOnDiskAreFoundByTheirSetAlone) {
  const Flags disk = {"--cache-dir", files_ + "/cache"};
  Serve(Join(Both(), disk));
  const Talk talk = Converse({0, 1});
  WaitUntilSaved();
  const Json third = NextTurn(NextTurn(FirstTurn(), talk.first), talk.second, "third question");

  // Another set, and the same content under another number, as the first of one adapter.
  Serve(Join(Join(Streams(), {"--lora", adapters_[1]}), disk));
  const Json found = Ask(third);
  EXPECT_LE(ReadTokens(found), kNewTokensMax);
  Json other = third;
  other["lora"] = {{{"id", 0}, {"scale", 0.5}}};
  EXPECT_GT(ReadTokens(Ask(other)), 1500);
  other["lora"] = Json::array();
  EXPECT_GT(ReadTokens(Ask(other)), 1500);

  // A set that only a request names.
  Serve(Join(Both(), disk));
  EXPECT_GT(ReadTokens(Ask(With(third, {1, 0}))), 1500);
  const Json again = Ask(With(third, {0, 1}));
  EXPECT_LE(ReadTokens(again), kNewTokensMax);
  EXPECT_EQ(Text(again), Text(found));
}

TEST_F(LoraServeTest, TheServersScalesAreShownAndSet) {
  Serve(Join(Both(), {"--cache-disk", "0"}));
  Json list = Json::parse(Get("/lora-adapters").body);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1]["path"].text(), adapters_[1]);
  EXPECT_EQ(list[1]["scale"].get<double>(), 0);
  const std::string plain = Text(Ask(FirstTurn()));
  const std::string applied = Text(Ask(With(FirstTurn(), {0, 1})));
  EXPECT_NE(plain, applied);
  EXPECT_EQ(Post("/lora-adapters", Json::parse(R"([{"id": 1, "scale": 1}])")).status, 200);
  list = Json::parse(Get("/lora-adapters").body);
  EXPECT_EQ(list[1]["scale"].get<double>(), 1);
  EXPECT_EQ(Text(Ask(FirstTurn())), applied);
  Json none = FirstTurn();
  none["lora"] = Json::array();
  EXPECT_EQ(Text(Ask(none)), plain);
  none["lora"] = Json::parse(R"([{"id": 2, "scale": 1}])");
  const HttpReply refused = Post("/v1/chat/completions", none);
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("lora[0].id"), std::string::npos) << refused.body;
}

TEST_F(LoraServeTest, AFileThatIsNoAdapterEndsTheStart) {
  EXPECT_NE(Refusal({"--lora", test::MadeModel()}).find("cannot load the LoRA adapter"),
            std::string::npos);
  EXPECT_NE(Refusal({"--lora-scaled", adapters_[0]}).find("FILE:SCALE"), std::string::npos);
}

}  // namespace
}  // namespace cairn
