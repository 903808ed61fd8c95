#include "lab/bench/scenario.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>

#include "base/json.h"
#include "testing/base/golden_file.h"

namespace cairn {
namespace {

constexpr const char* kTrace =
    R"({"dialogue":"a","messages":[{"role":"system","content":"policy"},)"
    R"({"role":"user","content":"hello"},{"role":"assistant","content":"","tool_calls":)"
    R"([{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},)"
    R"({"role":"tool","tool_call_id":"c1","name":"look","content":"seen"},)"
    R"({"role":"assistant","content":"done"}]})"
    "\n"
    R"({"messages":[{"role":"user","content":"again"},{"role":"assistant","content":"yes"}]})"
    "\n";

ScenarioParams Params(double scale = 0.1, uint64_t seed = 3) {
  ScenarioParams params;
  params.scale = scale;
  params.seed = seed;
  params.bytes_per_token = 1;
  params.trace = kTrace;
  return params;
}

// Lists every request as one text, with "A" for answers. Fails on steps that no client could send.
class DryRun {
 public:
  explicit DryRun(const Scenario& scenario) {
    for (const Step& step : scenario.steps) {
      std::visit([this](const auto& which) { Do(which); }, step);
    }
  }

  std::vector<std::string> requests;

 private:
  using Messages = std::vector<ChatMessage>;

  void Do(const AddStep& step) {
    Messages& messages = messages_[step.conversation];
    messages.insert(messages.end(), step.messages.begin(), step.messages.end());
  }
  void Do(const RewriteStep& step) {
    messages_[step.conversation].at(step.message).content = step.content;
  }
  void Do(const EraseStep& step) {
    Messages& messages = messages_[step.conversation];
    ASSERT_LE(step.begin + step.count, messages.size());
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(step.begin),
                   messages.begin() + static_cast<std::ptrdiff_t>(step.begin + step.count));
  }
  void Do(const CutStep& step) {
    ASSERT_LE(step.keep, messages_[step.conversation].size());
    messages_[step.conversation].resize(step.keep);
  }
  void Do(const CopyStep& step) {
    messages_[step.to] = messages_[step.from];
    tools_[step.to] = tools_[step.from];
  }
  void Do(const ToolsStep& step) { tools_[step.conversation] = step.tools_json; }
  void Do(const RestartStep&) { requests.emplace_back("restart"); }
  void Do(const AskStep& step) {
    ASSERT_FALSE(step.asks.empty());
    for (const Ask& ask : step.asks) {
      const Messages& messages = messages_[ask.conversation];
      ASSERT_FALSE(messages.empty());
      EXPECT_EQ(messages[0].role, "system");
      EXPECT_TRUE(messages.back().role == "user" || messages.back().role == "tool");
      EXPECT_FALSE(ask.what.empty());
      const auto body = ConversationBody(messages, tools_[ask.conversation]);
      ASSERT_TRUE(body) << body.error().message;
      requests.push_back(*body);
    }
    for (const Ask& ask : step.asks) {
      if (ask.keep == Keep::kDiscard) continue;
      const bool scripted = ask.keep == Keep::kInstead;
      messages_[ask.conversation].push_back(scripted ? ask.instead : ChatMessage{"assistant", "A"});
      EXPECT_EQ(messages_[ask.conversation].back().role, "assistant");
    }
  }

  std::map<size_t, Messages> messages_;
  std::map<size_t, std::string> tools_;
};

std::vector<std::string> Requests(std::string_view name, const ScenarioParams& params) {
  const auto scenario = MakeScenario(name, params);
  EXPECT_TRUE(scenario) << name;
  return scenario ? DryRun(*scenario).requests : std::vector<std::string>();
}

size_t TextBytes(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

TEST(Scenario, AsksWhatAClientCouldSend) {
  for (const ScenarioInfo& info : Scenarios()) {
    const auto scenario = MakeScenario(info.name, Params());
    ASSERT_TRUE(scenario) << scenario.error().message;
    EXPECT_EQ(scenario->name, info.name);
    const DryRun run(*scenario);
    EXPECT_GE(scenario->requests(), 2u) << info.name;
    EXPECT_EQ(run.requests.size(), scenario->requests() + (NeedsRestart(info.name) ? 1 : 0));
  }
}

TEST(Scenario, IsTheSameForTheSameSeedAndSharesNoBeginningWithOthers) {
  std::set<std::string> beginnings;
  for (const ScenarioInfo& info : Scenarios()) {
    if (NeedsTrace(info.name)) continue;
    const auto requests = Requests(info.name, Params());
    EXPECT_EQ(requests, Requests(info.name, Params())) << info.name;
    ScenarioParams again = Params();
    again.repetition = 1;
    for (const auto& params : {Params(), Params(0.1, 4), again}) {
      const std::string first = Requests(info.name, params).at(0);
      const size_t at = first.find("Session ");
      ASSERT_NE(at, std::string::npos) << info.name;
      EXPECT_TRUE(beginnings.insert(first.substr(at, 40)).second) << info.name;
    }
  }
}

TEST(Scenario, GrowsWithTheScaleAndTheTokenizersTokens) {
  for (const ScenarioInfo& info : Scenarios()) {
    if (NeedsTrace(info.name)) continue;
    const size_t small = TextBytes(Requests(info.name, Params(0.5)));
    EXPECT_GT(TextBytes(Requests(info.name, Params(1))), small * 4 / 3) << info.name;
    ScenarioParams longer = Params(0.5);
    longer.bytes_per_token = 2;
    EXPECT_GT(TextBytes(Requests(info.name, longer)), small * 4 / 3) << info.name;
  }
}

TEST(Scenario, LongHistoriesAreAsLongAsTheirNamesSay) {
  const auto about = [](std::string_view name, double tokens) {
    const auto size = static_cast<double>(Requests(name, Params(1)).at(0).size());
    EXPECT_GT(size, tokens);
    EXPECT_LT(size, tokens * 1.15);
  };
  about("history-36k", 36'000);
  about("history-100k", 100'000);
}

// Returns the messages of a request.
Json MessagesIn(const std::string& request) {
  return Json::parse(request)["messages"];
}

TEST(Scenario, ACrowdSendsEveryTurnAtTheSameTimeWithOneHeader) {
  const auto scenario = MakeScenario("crowd", Params());
  ASSERT_TRUE(scenario);
  std::vector<size_t> together;
  for (const Step& step : scenario->steps) {
    if (const auto* ask = std::get_if<AskStep>(&step)) together.push_back(ask->asks.size());
  }
  EXPECT_EQ(together, std::vector<size_t>(6, 8));
  const std::vector<std::string> requests = Requests("crowd", Params());
  std::set<std::string> questions;
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(MessagesIn(requests[i])[0], MessagesIn(requests[0])[0]);
    EXPECT_EQ(Json::parse(requests[i])["tools"], Json::parse(requests[0])["tools"]);
    questions.insert(MessagesIn(requests[i])[1].dump());
    EXPECT_EQ(MessagesIn(requests[40 + i]).size(), 12u) << "a system message and six turns";
  }
  EXPECT_EQ(questions.size(), 8u);
}

TEST(Scenario, ToolMessagesEndInALongerResultAndTheSameCallAgain) {
  const std::vector<std::string> requests = Requests("tool-messages", Params());
  ASSERT_EQ(requests.size(), 14u);
  const Json before = MessagesIn(requests[10]);
  ASSERT_EQ(before.size(), 22u) << "a system message, a question, ten calls and their results";
  for (size_t i = 2; i < before.size(); i += 2) {
    EXPECT_EQ(before[i]["tool_calls"].size(), 1u);
    EXPECT_FALSE(before[i].contains("reasoning_content"));
    EXPECT_EQ(before[i + 1]["role"], "tool");
    EXPECT_EQ(before[i + 1]["tool_call_id"], before[i]["tool_calls"][0]["id"]);
  }
  const Json longer = MessagesIn(requests[11]);
  ASSERT_EQ(longer.size(), before.size());
  EXPECT_EQ(longer[20], before[20]);
  const auto result = longer[21]["content"].get<std::string>();
  EXPECT_TRUE(result.starts_with(before[21]["content"].get<std::string>() + "\n"));
  const Json again = MessagesIn(requests[12]);
  ASSERT_EQ(again.size(), 24u);
  EXPECT_EQ(again[22]["tool_calls"][0]["function"], again[20]["tool_calls"][0]["function"]);
  EXPECT_NE(again[22]["tool_calls"][0]["id"], again[20]["tool_calls"][0]["id"]);
  EXPECT_EQ(again[23]["content"], result);
}

TEST(Scenario, WithFixedAnswersKeepsNoGeneratedOne) {
  ScenarioParams params = Params();
  params.fixed_answer_tokens = 12;
  for (const ScenarioInfo& info : Scenarios()) {
    const auto scenario = MakeScenario(info.name, params);
    ASSERT_TRUE(scenario) << info.name;
    for (const Step& step : scenario->steps) {
      const auto* asked = std::get_if<AskStep>(&step);
      if (asked == nullptr) continue;
      for (const Ask& ask : asked->asks) {
        EXPECT_TRUE(ask.keep == Keep::kInstead || ask.keep == Keep::kDiscard) << info.name;
        EXPECT_EQ(ask.answer_tokens_max == 12, ask.cancel == Cancel::kNever) << info.name;
      }
    }
    EXPECT_EQ(Requests(info.name, params), Requests(info.name, params)) << info.name;
  }
  const Json messages = MessagesIn(Requests("growing-chat", params).at(2));
  EXPECT_EQ(messages[2]["content"].get<std::string>().size(), 12u);
  EXPECT_NE(messages[2], messages[4]);
}

TEST(Scenario, ReplaysWhatTheTraceHolds) {
  const std::vector<std::string> requests = Requests("trace", Params(0.25));
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_NE(requests[0].find("policy"), std::string::npos);
  EXPECT_EQ(requests[0].find("call"), std::string::npos);
  EXPECT_NE(requests[1].find(R"("tool_call_id":"c1")"), std::string::npos) << requests[1];
  EXPECT_NE(requests[2].find("again"), std::string::npos);
  EXPECT_EQ(Requests("trace", Params(0.1)).size(), 2u) << "a dialogue for each eighth of the scale";
}

TEST(Scenario, SaysWhatIsWrongWithATrace) {
  ScenarioParams params = Params(1);
  params.trace = "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\nnothing\n";
  const auto broken = MakeScenario("trace", params);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(broken.error().message.starts_with("line 2 of the trace is no dialogue; expected"));
  params.trace = "{\"messages\":[1]}";
  EXPECT_FALSE(MakeScenario("trace", params));
  params.trace.clear();
  EXPECT_EQ(MakeScenario("trace", params).error().code, ErrorCode::kInvalidArgument);
}

TEST(Scenario, ThatIsUnknownListsThoseThatThereAre) {
  const auto none = MakeScenario("growing", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(none.error().message.starts_with(
      "there is no scenario 'growing'; there are all, growing-chat, reasoning-stripped, "))
      << none.error().message;
}

TEST(Scenario, HasASectionInTheDocumentsAndEachSectionAScenario) {
  const std::string document = ReadSourceFile("docs/scenarios.md");
  std::vector<std::string> sections;
  const std::regex heading("\n## `([^`]+)`");
  for (std::sregex_iterator at(document.begin(), document.end(), heading), end; at != end; ++at) {
    sections.push_back((*at)[1]);
  }
  std::vector<std::string> names;
  for (const ScenarioInfo& info : Scenarios()) names.emplace_back(info.name);
  EXPECT_EQ(sections, names);
}

}  // namespace
}  // namespace cairn
