#include "api/openai/stored_responses.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "api/openai/response_items.h"
#include "api/openai/responses_request.h"

namespace cairn::stored_responses_test {
namespace {

constexpr double kTtlMs = 1000;

class StoredResponsesTest : public ::testing::Test {
 protected:
  // `bytes`: about what the turn's texts take.
  void Store(const std::string& id, const std::string& previous = "", size_t bytes = 1000,
             NamespaceId name_space = 0) {
    std::shared_ptr<const StoredResponses::Chain> chain;
    if (!previous.empty()) chain = *stored_.Find(previous, name_space);
    stored_.Store(name_space, {id, Quoted(bytes), R"({"output":[]})"}, chain.get());
  }
  static std::string Quoted(size_t bytes) { return "\"" + std::string(bytes, 'x') + "\""; }

  // The ids of the turns; or why there are none.
  std::string Turns(const std::string& id, NamespaceId name_space = 0) {
    const auto chain = stored_.Find(id, name_space);
    if (!chain) return chain.error().message;
    std::string ids;
    for (const auto& turn : (*chain)->turns()) ids += (ids.empty() ? "" : " ") + turn->id;
    return ids;
  }
  bool Has(const std::string& id, NamespaceId name_space = 0) {
    return stored_.Find(id, name_space).has_value();
  }

  ManualClock clock_;
  StoredResponses stored_{&clock_, {.key_bytes_max = 20'000, .ttl_ms = kTtlMs}};
};

TEST_F(StoredResponsesTest, AConversationIsTheTurnsBeforeAResponseAndItsOwn) {
  Store("a");
  Store("b", "a");
  Store("c", "b");
  Store("d", "a");
  EXPECT_EQ(Turns("c"), "a b c");
  EXPECT_EQ(Turns("d"), "a d");
}

TEST_F(StoredResponsesTest, TurnsThatConversationsShareTakeTheirBytesOnce) {
  Store("a", "", 5000);
  const size_t one = stored_.bytes(0);
  for (const char* id : {"b", "c", "d", "e"}) Store(id, "a", 10);
  EXPECT_TRUE(Has("a"));
  EXPECT_LT(stored_.bytes(0), one + 5000);
  EXPECT_EQ(Turns("e"), "a e");
}

TEST_F(StoredResponsesTest, ADeletedResponseStaysForThoseThatStandOnIt) {
  Store("a");
  Store("b", "a");
  ASSERT_TRUE(stored_.Remove("a", 0));
  EXPECT_EQ(Turns("a"), "the response 'a' was deleted");
  EXPECT_EQ(Turns("b"), "a b");
  ASSERT_TRUE(stored_.Remove("b", 0));
  EXPECT_EQ(stored_.bytes(0), 0u);
  const auto again = stored_.Remove("b", 0);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().status, 404);
}

TEST_F(StoredResponsesTest, AnExpiredResponseIsMissingAndSaysSo) {
  Store("a");
  clock_.Advance(kTtlMs / 2);
  Store("b", "a");
  clock_.Advance(kTtlMs / 2);
  EXPECT_EQ(Turns("a"), "the response 'a' has expired: --responses-ttl keeps one for 1 seconds");
  EXPECT_EQ(Turns("b"), "a b");
  clock_.Advance(kTtlMs / 2);
  EXPECT_FALSE(Has("b"));
  EXPECT_EQ(stored_.bytes(0), 0u);
}

TEST_F(StoredResponsesTest, TheOldestAreEvictedAndSaySo) {
  for (int i = 0; i < 20; ++i) Store("r" + std::to_string(i), "", 3000);
  EXPECT_LE(stored_.bytes(0), 20'000u);
  EXPECT_TRUE(Turns("r0").starts_with("the response 'r0' was evicted by newer ones"))
      << Turns("r0");
  EXPECT_TRUE(Has("r19"));
  EXPECT_TRUE(Has("r15"));
}

TEST_F(StoredResponsesTest, NoNamespaceSeesOrEvictsWhatAnotherStored) {
  Store("a", "", 15'000, 1);
  for (int i = 0; i < 20; ++i) Store("r" + std::to_string(i), "", 3000, 2);
  EXPECT_TRUE(Has("a", 1));
  EXPECT_FALSE(stored_.Remove("a", 2).has_value());
  EXPECT_TRUE(Has("a", 1));
  // Another's response, another's evicted one and one that never was are the same.
  const std::string never = Turns("r99", 1);
  EXPECT_EQ(Turns("r19", 1), never.substr(0, 14) + "r19" + never.substr(17));
  EXPECT_EQ(Turns("r10", 1), never.substr(0, 14) + "r10" + never.substr(17));
}

TEST_F(StoredResponsesTest, AConversationThatIsTooLargeIsNotStoredAndEvictsNothing) {
  Store("a", "", 5000);
  Store("b", "", 12'000);
  Store("c", "b", 12'000);
  EXPECT_TRUE(Turns("c").starts_with("the response 'c' was not stored: it is too large"))
      << Turns("c");
  EXPECT_TRUE(Has("a"));
  EXPECT_TRUE(Has("b"));
}

TEST_F(StoredResponsesTest, WhatARequestReadsStaysUntilItsResponseIsStored) {
  Store("a", "", 5000);
  auto chain = *stored_.Find("a", 0);
  clock_.Advance(2 * kTtlMs);
  EXPECT_FALSE(Has("a"));
  EXPECT_GT(stored_.bytes(0), 5000u);
  stored_.Store(0, {"b", "\"\"", "{}"}, chain.get());
  chain.reset();
  EXPECT_EQ(Turns("b"), "a b");
  ASSERT_TRUE(stored_.Remove("b", 0));
  EXPECT_EQ(stored_.bytes(0), 0u);
}

TEST_F(StoredResponsesTest, AConversationOfManyTurnsIsReleasedWhole) {
  StoredResponses stored(&clock_, {.key_bytes_max = size_t{1} << 30U, .ttl_ms = kTtlMs});
  constexpr int kTurns = 3000;
  for (int i = 0; i < kTurns; ++i) {
    std::shared_ptr<const StoredResponses::Chain> chain;
    if (i > 0) chain = *stored.Find(std::to_string(i - 1), 0);
    stored.Store(0, {std::to_string(i), "[]", "{}"}, chain.get());
    if (i > 0) {
      ASSERT_TRUE(stored.Remove(std::to_string(i - 1), 0));
    }
  }
  EXPECT_EQ((*stored.Find(std::to_string(kTurns - 1), 0))->turns().size(), size_t{kTurns});
  ASSERT_TRUE(stored.Remove(std::to_string(kTurns - 1), 0));
  EXPECT_EQ(stored.bytes(0), 0u);
}

TEST_F(StoredResponsesTest, AnIdOfAnyLengthIsShownInPart) {
  EXPECT_LT(Turns(std::string(100'000, 'x')).size(), 300u);
}

TEST(ResponseItems, InputIsListedAsItemsWithIds) {
  EXPECT_EQ(ToText(ListedInput("hi", "7")),
            R"([{"id":"msg_7-in0","type":"message","status":"completed","role":"user",)"
            R"("content":[{"type":"input_text","text":"hi"}]}])");
  const Json items = ListedInput(Json::parse(R"([{"role":"assistant","content":"so","id":"mine"},
                      {"type":"function_call_output","call_id":"1","output":"x","id":""},
                      {"type":"web_search_call"}])"),
                                 "7");
  EXPECT_EQ(items[0]["id"], "mine");
  EXPECT_EQ(items[0]["content"][0]["type"], "output_text");
  EXPECT_EQ(items[1]["id"], "fco_7-in1");
  EXPECT_EQ(items[2]["id"], "item_7-in2");
}

class References : public ::testing::Test {
 protected:
  References() {
    stored_.Store(1,
                  {"resp_5-2", R"([{"id":"msg_5-2-in0","type":"message","role":"user"}])",
                   R"({"output":[{"id":"msg_5-2-0","type":"message","role":"assistant"}]})"},
                  nullptr);
  }

  // The ids and roles of the items, or the error.
  std::string Resolved(const std::string& input, NamespaceId name_space = 1) {
    Json items = Json::parse(input);
    const auto resolved = ResolveReferences(&items, name_space, &stored_);
    if (!resolved) return std::to_string(resolved.error().status) + " " + resolved.error().field;
    std::string lines;
    for (const Json& item : items) {
      lines += item.value("id", "") + " " + item.value("role", "") + "\n";
    }
    return lines;
  }

  ManualClock clock_;
  StoredResponses stored_{&clock_, {.key_bytes_max = 1000}};
};

TEST_F(References, AreReplacedByTheStoredItems) {
  EXPECT_EQ(Resolved(R"([{"type":"item_reference","id":"msg_5-2-in0"},
                         {"type":"item_reference","id":"msg_5-2-0"},{"id":"x","role":"user"}])"),
            "msg_5-2-in0 user\nmsg_5-2-0 assistant\nx user\n");
}

TEST_F(References, ToWhatIsNotStoredForTheKeyAreMissing) {
  EXPECT_EQ(Resolved(R"([{"type":"item_reference","id":"msg_5-2-1"}])"), "404 input[0].id");
  EXPECT_EQ(Resolved(R"([{"type":"item_reference","id":"nonsense"}])"), "404 input[0].id");
  EXPECT_EQ(Resolved(R"([{"type":"item_reference","id":"msg_5-2-0"}])", 2), "404 input[0].id");
}

// Every item counts, of the types that are ignored too: they cost no token of the prompt.
TEST_F(References, AndItemsOfAllTypesAreAtMostAsManyAsMessages) {
  for (const char* item : {R"({"type":"item_reference","id":"msg_5-2-in0"})",
                           R"({"type":"web_search_call"})", R"({"role":"user","content":"x"})"}) {
    std::string input = "[";
    for (size_t i = 0; i < kInputItemsMax; ++i) input += std::string(item) + ",";
    EXPECT_EQ(Resolved(input + item + "]"), "400 input") << item;
    EXPECT_EQ(
        ParseResponsesRequest(Json{{"input", Json::parse(input + item + "]")}}, {}).error().field,
        "input");
    input.back() = ']';
    EXPECT_NE(Resolved(input), "400 input") << item;
  }
}

TEST_F(References, ToOneItemAreTheFirstOfItsIdEachTime) {
  stored_.Store(1,
                {"resp_6", R"([{"id":"msg_6-a","role":"user"},{"id":"msg_6-a","role":"tool"}])",
                 R"({"output":[{"id":"msg_6-a","role":"assistant"},{"role":"no id"}]})"},
                nullptr);
  const std::string one = R"({"type":"item_reference","id":"msg_6-a"})";
  EXPECT_EQ(Resolved("[" + one + "," + one + "]"), "msg_6-a user\nmsg_6-a user\n");
}

// The work for one reference does not grow with the conversation before its response.
TEST_F(References, ReadTheirResponseAlone) {
  StoredResponses large(&clock_, {});
  large.Store(1, {"resp_1", R"([{"id":"msg_1-in0"}])", R"({"output":[]})"}, nullptr);
  const auto first = large.Find("resp_1", 1);
  large.Store(1, {"resp_2", "not JSON", R"({"output":[]})"}, first->get());
  const auto second = large.Find("resp_2", 1);
  large.Store(1, {"resp_3", R"([{"id":"msg_3-in0"}])", R"({"output":[]})"}, second->get());
  ASSERT_NE(large.FindTurn("resp_3", 1), nullptr);
  EXPECT_EQ(large.FindTurn("resp_3", 1)->id, "resp_3");
  EXPECT_EQ(large.FindTurn("resp_3", 2), nullptr);
  EXPECT_EQ(large.FindTurn("resp_4", 1), nullptr);
  Json items = Json::parse(R"([{"type":"item_reference","id":"msg_3-in0"}])");
  EXPECT_TRUE(ResolveReferences(&items, 1, &large).has_value());
  EXPECT_EQ(items[0]["id"], "msg_3-in0");
}

TEST_F(References, TakeNoMoreBytesThanAKeyMayStore) {
  std::string input = "[";
  for (int i = 0; i < 50; ++i) input += R"({"type":"item_reference","id":"msg_5-2-0"},)";
  EXPECT_TRUE(Resolved(input + "{}]").starts_with("400 input["));
}

class InputItems : public ::testing::Test {
 protected:
  InputItems() {
    turns_.push_back(std::make_shared<ResponseTurn>(
        ResponseTurn{"resp_1", R"([{"id":"a"},{"id":"b"}])", R"({"output":[{"id":"c"}]})"}));
    turns_.push_back(std::make_shared<ResponseTurn>(
        ResponseTurn{"resp_2", R"([{"id":"d"}])", R"({"output":[{"id":"e"}]})"}));
  }

  std::string Ids(const std::multimap<std::string, std::string>& params) {
    const auto body = InputItemsBody(turns_, params);
    if (!body) return body.error().message;
    const Json list = Json::parse(*body);
    std::string ids;
    for (const Json& item : list["data"]) ids += item["id"].get<std::string>();
    if (!ids.empty()) {
      EXPECT_EQ(list["first_id"], ids.substr(0, 1));
      EXPECT_EQ(list["last_id"], ids.substr(ids.size() - 1));
    }
    return ids + (list["has_more"] == true ? "…" : "");
  }

  ResponseTurns turns_;
};

TEST_F(InputItems, AreThoseTheResponseWasMadeFromNewestFirst) {
  EXPECT_EQ(Ids({}), "dcba");
  EXPECT_EQ(Ids({{"order", "asc"}}), "abcd");
}

TEST_F(InputItems, ComeInPages) {
  EXPECT_EQ(Ids({{"limit", "3"}}), "dcb…");
  EXPECT_EQ(Ids({{"limit", "3"}, {"after", "b"}}), "a");
  EXPECT_EQ(Ids({{"order", "asc"}, {"limit", "1"}, {"after", "b"}}), "c…");
  EXPECT_EQ(Ids({{"after", "a"}}), "");
}

TEST_F(InputItems, AskedForWronglyAreAnError) {
  EXPECT_EQ(Ids({{"limit", "0"}}), "'limit' must be a number from 1 to 100");
  EXPECT_EQ(Ids({{"limit", "101"}}), "'limit' must be a number from 1 to 100");
  EXPECT_EQ(Ids({{"order", "up"}}), "'order' must be 'asc' or 'desc'");
  EXPECT_EQ(Ids({{"after", "z"}}), "'after' must be the id of one of the listed items");
}

}  // namespace
}  // namespace cairn::stored_responses_test
