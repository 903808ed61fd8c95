// The program with --script, over HTTP: replays a client's session on a synthetic hybrid model.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "served.h"

namespace cairn {
namespace {

constexpr char kScript[] = R"json({"rules": [
  {"text": "amber", "answer": {"reasoning": "So it is.", "content": "It is amber."}},
  {"text": "the stone", "tool": "look", "answer": {"reasoning": "I look.",
    "call": {"name": "look", "arguments": {"where": "under \"it\""}}}},
  {"answer": {"content": "Stones"}}
]})json";

class ScriptTest : public test::ServedTest {
 protected:
  std::string Write(const std::string& text) const {
    const std::string path = files_ + "/script.json";
    std::ofstream(path) << text;
    return path;
  }
};

Json Text(const std::string& text) {
  return Json::array({{{"type", "text"}, {"text", text}}});
}

// The header that one version of Claude Code sends; `cch=` differs in each request.
std::string BillingHeader(int request) {
  return "x-anthropic-billing-header: cc_version=2.1.177.e5a; cc_entrypoint=sdk-cli; cch=632e" +
         std::to_string(request) + ";";
}

// A session in the form of Claude Code: the system prompt in blocks, a cache mark that moves.
class MessagesSession {
 public:
  explicit MessagesSession(const ServerProcess& server) : client_(server.url()) {
    body_ = {{"model", "m"}, {"max_tokens", 400}};
    body_["tools"] =
        Json::array({{{"name", "look"},
                      {"description", std::string(600, 'd')},
                      {"input_schema",
                       {{"type", "object"}, {"properties", {{"where", {{"type", "string"}}}}}}}}});
    body_["messages"] = Json::array();
  }

  Json Ask(const Json& content) {
    body_["messages"].push_back({{"role", "user"}, {"content", content}});
    ++requests_;
    body_["system"] = Text(BillingHeader(requests_));
    body_["system"].push_back({{"type", "text"},
                               {"text", std::string(1500, 's')},
                               {"cache_control", {{"type", "ephemeral"}}}});
    const auto reply = client_.Post("/v1/messages", body_.dump());
    EXPECT_TRUE(reply.has_value());
    EXPECT_EQ(reply->status, 200) << reply->body;
    Json answer = Json::parse(reply->body);
    body_["messages"].push_back({{"role", "assistant"}, {"content", answer["content"]}});
    return answer;
  }

 private:
  HttpClient client_;
  Json body_;
  int requests_ = 0;
};

Json ToolResult(const Json& answer, const std::string& text) {
  return Json::array({{{"type", "tool_result"},
                       {"tool_use_id", answer["content"].back()["id"]},
                       {"content", Text(text)}}});
}

// Returns the tokens of the prompt that were prefilled, whether or not a mark keeps them.
int ReadTokens(const Json& answer) {
  const Json& usage = answer["usage"];
  return usage["input_tokens"].get<int>() + usage["cache_creation_input_tokens"].get<int>();
}

TEST_F(ScriptTest, ASessionWhoseBillingHeaderAlwaysChangesReadsOnlyItsNewMessages) {
  Serve({"--cache-disk", "0", "-c", "8192", "--script", Write(kScript)});
  MessagesSession session(*server_);
  for (int turn = 1; turn <= 3; ++turn) {
    const Json call = session.Ask(Text("Look under the stone, turn " + std::to_string(turn)));
    EXPECT_EQ(call["stop_reason"], "tool_use");
    EXPECT_EQ(call["content"].back()["name"], "look");
    EXPECT_EQ(call["content"].back()["input"], Json({{"where", "under \"it\""}}));
    const Json answer = session.Ask(ToolResult(call, "amber"));
    EXPECT_EQ(answer["stop_reason"], "end_turn");
    EXPECT_EQ(answer["content"].back()["text"], "It is amber.");
    const int first_read = ReadTokens(call);
    if (turn == 1) {
      EXPECT_GT(first_read, 2000);
    } else {
      // The previous turn without its reasoning, the new question, and the rounding to the grid.
      EXPECT_LT(first_read, 500) << "turn " << turn;
      EXPECT_GT(call["usage"]["cache_read_input_tokens"].get<int>(), 2000);
    }
    EXPECT_LT(ReadTokens(answer), 200) << "turn " << turn;
  }
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(ScriptTest, AFileThatIsNoScriptIsNamedBeforeTheModelLoads) {
  const std::string refusal = Refusal({"--script", Write("stones")}, "no-model.gguf");
  EXPECT_NE(refusal.find("script.json"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace cairn
