// `cairn serve --slot-save-path`: a conversation is saved to a file, and continues on a new server
// that stores nothing else on disk.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::kNewTokensMax;
using test::NextTurn;
using test::ReadTokens;

class SlotSaveTest : public test::ServedTest {
 protected:
  SlotSaveTest() { std::filesystem::create_directories(folder_); }

  void ServeInMemory(const Flags& flags = {}) { Serve(Join({"--cache-disk", "0"}, flags)); }
  Flags With(const Flags& flags = {}) const { return Join(flags, {"--slot-save-path", folder_}); }

  HttpReply Act(const std::string& action, const std::string& file = "talk.bin", size_t slot = 0) {
    return Post("/slots/" + std::to_string(slot) + "?action=" + action, {{"filename", file}});
  }
  Json Slots() const { return Json::parse(Get("/slots").body); }
  // Returns the slot that holds the conversation.
  size_t UsedSlot() {
    const Json slots = Slots();
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i]["n_tokens"] > 0) return i;
    }
    ADD_FAILURE() << "no slot holds anything: " << slots;
    return 0;
  }

  // Plays two turns and returns the prompt of a third.
  Json PlayTwoTurns() {
    const Json first = FirstTurn();
    const Json second = NextTurn(first, Ask(first));
    return NextTurn(second, Ask(second), "third question");
  }
  // Returns the body with the second question changed.
  static Json Edited(Json body) {
    Json& messages = body["messages"];
    messages[3]["content"] = "another question";
    while (messages.size() > 4) messages.erase(std::next(messages.begin(), 4));
    return body;
  }

  const std::string folder_ = files_ + "/slots";
};

TEST_F(SlotSaveTest, AConversationGoesOnInAFreshServerAndSoDoesAnEditedOne) {
  ServeInMemory(With());
  const Json next = PlayTwoTurns();
  const size_t used = UsedSlot();
  const HttpReply reply = Act("save", "talk.bin", used);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json saved = Json::parse(reply.body);
  EXPECT_EQ(saved["id_slot"], used);
  EXPECT_EQ(saved["filename"], "talk.bin");
  EXPECT_GT(saved["n_saved"], 1500);
  EXPECT_EQ(saved["n_written"], std::filesystem::file_size(folder_ + "/talk.bin"));
  EXPECT_GE(saved["timings"]["save_ms"], 0);
  const int edited_before = ReadTokens(Ask(Edited(next)));
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();

  ServeInMemory(With());
  const Json restored = Json::parse(Act("restore", "talk.bin", 1).body);
  EXPECT_EQ(restored["id_slot"], 1) << restored;
  EXPECT_EQ(restored["n_restored"], saved["n_saved"]);
  EXPECT_EQ(restored["n_read"], saved["n_written"]);
  EXPECT_GE(restored["timings"]["restore_ms"], 0);
  EXPECT_EQ(Slots()[1]["n_tokens"], saved["n_saved"]);
  EXPECT_LT(ReadTokens(Ask(next)), kNewTokensMax);
  const int edited_after = ReadTokens(Ask(Edited(next)));
  EXPECT_LT(edited_after, 2 * kNewTokensMax);
  EXPECT_EQ(edited_after, edited_before);
}

TEST_F(SlotSaveTest, ExactAnswersAreTheSameAsWithoutACache) {
  ServeInMemory(With({"--reuse", "exact"}));
  const Json next = PlayTwoTurns();
  ASSERT_EQ(Act("save").status, 200);
  ServeInMemory(With({"--reuse", "exact"}));
  const HttpReply restored = Act("restore");
  ASSERT_EQ(restored.status, 200) << restored.body;
  const Json reused = Ask(next);
  EXPECT_LT(ReadTokens(reused), kNewTokensMax + 16) << "its answer is read again";
  const Json reused_edited = Ask(Edited(next));
  ServeInMemory({"--reuse", "exact", "--cache-ram", "0"});
  const Json cold = Ask(next);
  EXPECT_GT(ReadTokens(cold), 1500);
  EXPECT_EQ(cold["choices"][0]["message"], reused["choices"][0]["message"]);
  EXPECT_EQ(Ask(Edited(next))["choices"][0]["message"], reused_edited["choices"][0]["message"]);
}

TEST_F(SlotSaveTest, SlotsWithAPartOfTheContextEachAreSavedToo) {
  for (const Flags& mode : {Flags{"--reuse", "exact", "-np", "2"}, Flags{"-no-kvu", "-np", "2"}}) {
    SCOPED_TRACE(mode.front());
    ServeInMemory(With(mode));
    const Json next = PlayTwoTurns();
    ASSERT_EQ(Act("save", "talk.bin", UsedSlot()).status, 200);
    ServeInMemory(With(mode));
    const HttpReply restored = Act("restore", "talk.bin", 1);
    ASSERT_EQ(restored.status, 200) << restored.body;
    EXPECT_LT(ReadTokens(Ask(next)), kNewTokensMax + 16);
  }
}

TEST_F(SlotSaveTest, WithoutACacheTheConversationGoesOnAllTheSame) {
  ServeInMemory(With());
  const Json next = PlayTwoTurns();
  ASSERT_EQ(Act("save", "talk.bin", UsedSlot()).status, 200);
  ServeInMemory(With({"--cache-ram", "0"}));
  ASSERT_EQ(Act("restore").status, 200);
  EXPECT_LT(ReadTokens(Ask(next)), kNewTokensMax);
}

TEST_F(SlotSaveTest, WhatCannotBeRestoredIsSaidAndTheServerGoesOn) {
  ServeInMemory(With());
  PlayTwoTurns();
  ASSERT_EQ(Act("save", "talk.bin", UsedSlot()).status, 200);
  const std::string path = folder_ + "/talk.bin";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  std::ofstream(folder_ + "/foreign.bin") << "no such thing";
  const auto refused = [&](const HttpReply& reply, const std::string& why) {
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_NE(reply.body.find(why), std::string::npos) << reply.body;
  };
  refused(Act("restore"), "ends early");
  refused(Act("restore", "foreign.bin"), "is no file that cairn");
  refused(Act("restore", "none.bin"), "there is no file");
  refused(Act("restore", "../talk.bin"), "'filename' must be");
  refused(Act("save", "a/b"), "'filename' must be");
  refused(Post("/slots/0?action=save", Json::object()), "'filename' must be");
  EXPECT_LT(ReadTokens(Ask(FirstTurn())), kNewTokensMax);
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(Act("save", "talk.bin", UsedSlot()).status, 500);
}

TEST_F(SlotSaveTest, AnotherModelsFileIsRefused) {
  ServeInMemory(With());
  PlayTwoTurns();
  ASSERT_EQ(Act("save", "talk.bin", UsedSlot()).status, 200);
  ServeInMemory(With({"--ubatch-size", "128"}));
  const HttpReply refused = Act("restore");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("was saved by another model"), std::string::npos) << refused.body;
}

TEST_F(SlotSaveTest, WithoutTheFlagTheServerSaysWhichOneItTakes) {
  ServeInMemory();
  for (const char* action : {"save", "restore"}) {
    const HttpReply refused = Act(action);
    EXPECT_EQ(refused.status, 501);
    EXPECT_NE(refused.body.find("Start it with `--slot-save-path`"), std::string::npos);
  }
}

}  // namespace
}  // namespace cairn
