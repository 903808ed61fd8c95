// Days of scripted clients, each with one planted fault: the doctor names it first, and says what
// its cure would save.

#include "api/record/doctor.h"

#include <atomic>
#include <functional>

#include "api/answer/answer_reader.h"
#include "api/record/request_log.h"
#include "testing/api/api_fixture.h"

namespace cairn::doctor_test {
namespace {

constexpr int kTurns = 8;
constexpr int64_t kBegun = 1'764'000'000;

Message System(const std::string& text) {
  return {.role = Role::kSystem, .content = text};
}
Message User(const std::string& text) {
  return {.role = Role::kUser, .content = text};
}

std::string Rules() {
  return std::string(500, 'r');
}

Tools TwoTools(bool reversed) {
  const auto tool = [](const std::string& name) {
    return R"({"type":"function","function":{"name":")" + name + R"(","description":")" +
           std::string(100, 'd') + R"(","parameters":{"type":"object","properties":{}}}})";
  };
  const std::string first = tool(reversed ? "write" : "read");
  const std::string second = tool(reversed ? "read" : "write");
  return Tools::Parse("[" + first + "," + second + "]").value();
}

// A token takes a millisecond: causes are ranked by time, and the machine's is noise here.
class TokenClock final : public Clock {
 public:
  double NowMs() const override { return static_cast<double>(tokens_); }
  void Advance(size_t tokens) { tokens_ += tokens; }

 private:
  std::atomic<size_t> tokens_ = 0;
};

// It outlives the engine and the scheduler, which are bases too.
struct WithTokenClock {
  TokenClock token_clock;
};

// A server that keeps nothing in order for its clients, and what it says.
class Server final : private WithTokenClock, public ApiTest {
 public:
  Server() : ApiTest(Timed(&token_clock), &token_clock) {}
  void TestBody() override {}

  // Returns the answer.
  std::string Ask(Conversation conversation, NamespaceId name_space = 0, bool reuse = true) {
    ChatRequest request;
    request.conversation = std::move(conversation);
    request.params.tokens_max = 24;
    request.reuse = reuse;
    auto chat = plain_.Start(std::move(request), name_space);
    EXPECT_TRUE(chat.has_value()) << chat.error().message;
    if (!chat) return "";
    auto record =
        log_.Begin({std::to_string(++asked_), "/test", name_space, kBegun + asked_, "tester", "m"},
                   std::move(chat->explained), &engine_);
    Watch(record, chat->generation.get());
    const auto answer = CollectAnswer(std::move(*chat), [] { return false; });
    EXPECT_TRUE(answer.has_value());
    return answer ? answer->content : "";
  }

  Json Report(NamespaceId name_space = 0) const {
    return log_.doctor().Report(name_space, 24, kBegun + 100);
  }
  size_t Prefilled() const { return Report()["clients"][0]["prefilled_tokens"].get<size_t>(); }

 private:
  static FakeEngineOptions Timed(TokenClock* clock) {
    FakeEngineOptions options = EngineOptions(MemoryClass::kAttention);
    options.on_chunk = [clock](size_t tokens) { clock->Advance(tokens); };
    return options;
  }
  static ChatServiceOptions Plain() {
    ChatServiceOptions options;
    options.prompt.tool_lists_max = 0;
    return options;
  }

  ChatService plain_{&engine_, template_.get(), &scheduler_, Plain()};
  RequestLog log_;
  int asked_ = 0;
};

// What a client sends at a turn; `talk`: questions and answers, the newest question last.
using Sends = std::function<Conversation(int turn, std::vector<Message> talk)>;

void PlayDay(const Sends& sends, Server* server) {
  std::vector<Message> talk;
  for (int turn = 0; turn < kTurns; ++turn) {
    talk.push_back(User("Question " + std::to_string(turn) + " " + std::string(100, 'q')));
    const std::string answer = server->Ask(sends(turn, talk));
    talk.push_back({.role = Role::kAssistant, .content = answer});
  }
}

Conversation Whole(const std::string& system, const std::vector<Message>& talk) {
  Conversation conversation{.messages = {System(system)}};
  conversation.messages.insert(conversation.messages.end(), talk.begin(), talk.end());
  return conversation;
}

struct Fault {
  std::string cause;
  Sends faulty;
  Sends cured;
  // Its answers are the server's own. Others are new to it, whatever the client does.
  bool real_answers = true;
};

Sends Plain() {
  return [](int, const std::vector<Message>& talk) { return Whole("s0 " + Rules(), talk); };
}

std::vector<Fault> Faults() {
  std::vector<Fault> faults;
  faults.push_back({"volatile_value",
                    [](int turn, const std::vector<Message>& talk) {
                      return Whole(
                          "Today's date: 2026-11-1" + std::to_string(turn) + ". " + Rules(), talk);
                    },
                    Plain()});
  faults.push_back({"changing_text",
                    [](int turn, const std::vector<Message>& talk) {
                      return Whole(std::string(1, static_cast<char>('a' + turn)) + " " + Rules(),
                                   talk);
                    },
                    Plain()});
  faults.push_back({"two_system_prompts",
                    [](int turn, const std::vector<Message>& talk) {
                      return Whole((turn % 2 == 0 ? "Plan. " : "Do. ") + Rules(), talk);
                    },
                    Plain()});
  faults.push_back({"trimmed_history",
                    [](int, std::vector<Message> talk) {
                      while (talk.size() > 5) talk.erase(talk.begin(), talk.begin() + 2);
                      return Whole("s0 " + Rules(), talk);
                    },
                    Plain()});
  const auto with_tools = [](bool shuffled) {
    return [shuffled](int turn, const std::vector<Message>& talk) {
      Conversation conversation = Whole("s0 " + Rules(), talk);
      conversation.tools = TwoTools(shuffled && turn % 2 == 1);
      return conversation;
    };
  };
  faults.push_back({"tool_order", with_tools(true), with_tools(false)});
  // A loop of tools: the template shows reasoning behind the last question.
  const auto loop = [](bool drops) {
    return [drops](int turn, const std::vector<Message>& talk) {
      Conversation conversation = Whole("s0 " + Rules(), {talk.front()});
      for (int step = 0; step < turn; ++step) {
        Message call{.role = Role::kAssistant};
        if (!drops || step == turn - 1) call.reasoning = "Step " + std::string(60, 't');
        call.tool_calls = {{.id = "c", .name = "read", .arguments = "{}"}};
        conversation.messages.push_back(call);
        conversation.messages.push_back(
            {.role = Role::kTool, .content = std::string(90, 'o'), .tool_call_id = "c"});
      }
      conversation.tools = TwoTools(false);
      return conversation;
    };
  };
  faults.push_back({"dropped_reasoning", loop(true), loop(false), /*real_answers=*/false});
  return faults;
}

TEST(Doctor, NamesThePlantedFaultFirstAndWhatItsCureWouldSave) {
  for (const Fault& fault : Faults()) {
    Server faulty;
    PlayDay(fault.faulty, &faulty);
    Server cured;
    PlayDay(fault.cured, &cured);
    const Json client = faulty.Report()["clients"][0];
    ASSERT_GT(client["causes"].size(), 0u) << fault.cause << ": " << client.dump(2);
    const Json& first = client["causes"][0];
    EXPECT_EQ(first["cause"], fault.cause) << client.dump(2);
    EXPECT_FALSE(first["cure"].text().empty());
    EXPECT_FALSE(first["example"]["sentence"].text().empty());
    EXPECT_GT(first["since"].get<int64_t>(), kBegun);
    const auto estimate = client["avoidable_tokens"].get<double>();
    const auto saved =
        static_cast<double>(faulty.Prefilled()) - static_cast<double>(cured.Prefilled());
    if (fault.real_answers) {
      EXPECT_NEAR(estimate, saved, 0.05 * saved) << fault.cause << ": " << client.dump(2);
    }
    EXPECT_GT(first["tokens"].get<double>(), 0.5 * saved) << fault.cause << ": " << client.dump(2);
  }
}

TEST(Doctor, FindsNoFaultWithClientsThatHaveNone) {
  for (const Fault& fault : Faults()) {
    if (!fault.real_answers) continue;
    Server server;
    PlayDay(fault.cured, &server);
    const Json client = server.Report()["clients"][0];
    EXPECT_EQ(client["causes"].size(), 0u) << fault.cause << ": " << client.dump(2);
    EXPECT_EQ(client["requests"], kTurns);
    EXPECT_EQ(client["avoidable_tokens"], 0);
    EXPECT_EQ(client["unavoidable_tokens"], client["prefilled_tokens"]);
  }
}

TEST(Doctor, ASideRequestWithItsOwnSystemPromptIsNoFault) {
  Server server;
  PlayDay(
      [&](int turn, const std::vector<Message>& talk) {
        if (turn == 0) server.Ask(Whole("Find a title, and nothing else.", talk));
        return Whole("s0 " + Rules(), talk);
      },
      &server);
  EXPECT_EQ(server.Report()["clients"][0]["causes"].size(), 0u);
}

TEST(Doctor, NamesRequestsThatForbidReuse) {
  Server server;
  const Conversation talk = Whole("s0 " + Rules(), {User("Hi.")});
  server.Ask(talk);
  server.Ask(talk, 0, /*reuse=*/false);
  const Json causes = server.Report()["clients"][0]["causes"];
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0]["cause"], "not_allowed");
}

TEST(Doctor, AKeySeesItsOwnRequestsAlone) {
  Server server;
  const auto dated = [](const std::string& day) {
    return Whole("Today's date: 2026-11-" + day + ". " + Rules(), {User("Hi.")});
  };
  server.Ask(dated("11"), 1);
  server.Ask(dated("12"), 1);
  server.Ask(dated("13"), 2);
  const Json mine = server.Report(1)["clients"];
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_EQ(mine[0]["requests"], 2);
  const Json others = server.Report(2)["clients"];
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0]["causes"].size(), 0u);
  EXPECT_EQ(ToText(others).find("2026-11-1"), std::string::npos);
  EXPECT_EQ(server.Report(3)["clients"].size(), 0u);
}

Doctor::Ended EndedAt(int64_t unix_s, size_t avoidable = 0) {
  Doctor::Ended ended{.id = "r", .begun_unix_s = unix_s, .prompt_tokens = 1000};
  ended.prompt_ms = 60'000;
  if (avoidable > 0) ended.diagnosis = {Cause::kTools, avoidable};
  return ended;
}

TEST(Doctor, CountsTheAskedHoursAndBearsAClockThatJumps) {
  Doctor doctor;
  const Doctor::Client client{0, "a", "m"};
  constexpr int64_t kHour = 3600;
  doctor.Note(client, EndedAt(kBegun - 30 * kHour));
  doctor.Note(client, EndedAt(kBegun, 250));
  doctor.Note(client, EndedAt(kBegun + 1'000'000 * kHour));
  doctor.Note(client, EndedAt(kBegun, 250));
  EXPECT_EQ(doctor.Report(0, 48, kBegun)["clients"][0]["requests"], 4);
  const Json day = doctor.Report(0, 24, kBegun)["clients"][0];
  EXPECT_EQ(day["requests"], 3);
  EXPECT_EQ(day["causes"][0]["requests"], 2);
  EXPECT_EQ(day["causes"][0]["minutes"], 0.5);
  EXPECT_EQ(day["avoidable_minutes"], 0.5);
  for (int64_t hour = 0; hour < 1000; ++hour) doctor.Note(client, EndedAt(kBegun + hour * kHour));
  EXPECT_LE(doctor.Report(0, 24, 0)["clients"][0]["requests"].get<size_t>(), Doctor::kHoursMax + 1);
}

TEST(PromptSketch, TheSameToolsInAnotherOrderAreTheSameSet) {
  const auto set_of = [](const std::string& list) {
    ExplainedPrompt prompt;
    prompt.tools = Tools::Parse(list).value();
    return SketchOf(prompt, {}).tool_set;
  };
  // What looks like the end of a tool may be part of a text.
  const std::string read = R"({"name":"read","description":"a \"}],[{\\","enum":[1,[2,3]]})";
  const std::string write = R"({"name":"write","strict":true})";
  const std::string other = R"({"name":"write","strict":false})";
  EXPECT_EQ(set_of("[" + read + "," + write + "]"), set_of("[" + write + ", " + read + "]"));
  EXPECT_NE(set_of("[" + read + "," + write + "]"), set_of("[" + other + ", " + read + "]"));
  EXPECT_NE(set_of("[" + read + "," + write + "]"), set_of("[" + read + "]"));
  EXPECT_EQ(SketchOf({}, {}).tool_set, 0u);
}

TEST(Doctor, ForgetsTheClientSeenLongestAgo) {
  Doctor doctor;
  for (size_t i = 0; i <= Doctor::kClientsMax; ++i) {
    doctor.Note({0, "agent " + std::to_string(i), "m"}, EndedAt(kBegun));
  }
  const Json clients = doctor.Report(0, 24, kBegun)["clients"];
  EXPECT_EQ(clients.size(), Doctor::kClientsMax);
  EXPECT_EQ(ToText(clients).find("agent 0\""), std::string::npos);
}

}  // namespace
}  // namespace cairn::doctor_test
