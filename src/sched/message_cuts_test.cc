// Prompts that are cut at the beginning of messages (tree/prompt_cuts.h): an edit or a fork there
// prefills only what is new.

#include <string>

#include "testing/sched/scheduler_fixture.h"

namespace cairn::message_cuts_test {
namespace {

using test::Bench;
using test::kClasses;
using test::Text;

constexpr Token kStart = FakeEngine::kMessageStart;
// The role, and the generation prompt's start and role.
constexpr size_t kFrameTokens = 4;

// A conversation of messages, each a start token, a role and a text, and the generation prompt.
GenerationRequest Chat(const std::vector<Tokens>& messages) {
  GenerationRequest request = Bench::Request({}, 20);
  Tokens& prompt = request.prompt;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i % 2 == 1) request.shape.turns.push_back({prompt.size(), true});
    if (i == 1) request.shape.header_end = prompt.size();
    prompt.push_back(kStart);
    prompt.push_back(i % 2 == 1 ? 'u' : 'a');
    prompt.insert(prompt.end(), messages[i].begin(), messages[i].end());
  }
  request.shape.messages_end = prompt.size();
  prompt.push_back(kStart);
  prompt.push_back('a');
  request.shape.tokens = prompt.size();
  return request;
}

class MessageCuts : public testing::TestWithParam<MemoryClass> {
 protected:
  static FakeEngineOptions EngineOptions() {
    FakeEngineOptions options = Bench::EngineOptions(GetParam());
    options.message_starts = {kStart};
    return options;
  }
  static SchedulerOptions Scheduling(ReuseMode reuse) {
    SchedulerOptions options;
    options.reuse = reuse;
    options.message_starts = {kStart};
    return options;
  }
  // The answer of a server that has seen nothing before.
  static std::string Cold(GenerationRequest request) {
    Bench bench(EngineOptions(), Scheduling(ReuseMode::kExact));
    return bench.Run(std::move(request)).text;
  }
};

TEST_P(MessageCuts, AnEditedFirstMessagePrefillsThatMessageAloneAndChangesNoBit) {
  Bench bench(EngineOptions(), Scheduling(ReuseMode::kExact));
  bench.Run(Chat({Text(137, 'S'), Text(50, 'u')}));
  const GenerationRequest edited = Chat({Text(137, 'S'), Text(41, 'v')});
  const Bench::Answer answer = bench.Run(edited);
  EXPECT_LE(answer.end.cost.prefill_tokens(), 41 + kFrameTokens);
  EXPECT_EQ(answer.text, Cold(edited));
}

TEST_P(MessageCuts, AnEditedLastMessagePrefillsThatMessageAlone) {
  Bench bench(EngineOptions(), Scheduling(ReuseMode::kLive));
  const std::string said = bench.Run(Chat({Text(137, 'S'), Text(50, 'u')})).text;
  const Tokens answer(said.begin(), said.end());
  const std::vector<Tokens> front = {Text(137, 'S'), Text(50, 'u'), answer};
  for (const char letter : {'v', 'w', 'x'}) {
    std::vector<Tokens> messages = front;
    messages.push_back(Text(33, letter));
    const Bench::Answer edited = bench.Run(Chat(messages));
    // The last token of an answer is sampled but not decoded.
    EXPECT_LE(edited.end.cost.prefill_tokens(), 33 + kFrameTokens + 1) << letter;
  }
}

// Four clients in one conversation, which write its answers anew.
class FourClients {
 public:
  FourClients(FakeEngineOptions engine, SchedulerOptions scheduling)
      : bench_(Engine(std::move(engine)), Scheduling(std::move(scheduling)), "auto") {}

  // Asks for the turns at once, one of each client. Returns the tokens prefilled.
  size_t Ask(const std::vector<std::vector<Tokens>>& conversations) {
    std::vector<GenerationRequest> requests;
    for (const auto& messages : conversations) {
      requests.push_back(Chat(messages));
      requests.back().shape.reply_follows = true;
    }
    size_t prefilled = 0;
    for (const Bench::Answer& answer : bench_.RunTogether(std::move(requests))) {
      prefilled += answer.end.cost.prefill_tokens();
    }
    return prefilled;
  }

 private:
  static FakeEngineOptions Engine(FakeEngineOptions options) {
    options.slots = 4;
    return options;
  }
  static SchedulerOptions Scheduling(SchedulerOptions options) {
    options.leave_grid = true;
    return options;
  }

  Bench bench_;
};

// Each slot ends in an answer, which is no cut, and the short turn behind it is one chunk.
TEST_P(MessageCuts, OneTurnOfFourClientsBehindARewrittenAnswerIsPrefilledOnce) {
  FourClients clients(EngineOptions(), Scheduling(ReuseMode::kLive));
  std::vector<Tokens> messages = {Text(137, 'S'), Text(150, 'u')};
  clients.Ask({messages, messages, messages, messages});
  for (const char letter : {'b', 'c', 'd'}) {
    messages.push_back(Text(15, 'm'));
    messages.push_back(Text(90, letter));
    EXPECT_LE(clients.Ask({messages, messages, messages, messages}), 15 + 90 + 2 * kFrameTokens)
        << letter;
  }
}

TEST_P(MessageCuts, FourTurnsBehindOneRewrittenAnswerResumeWhereItBegins) {
  FourClients clients(EngineOptions(), Scheduling(ReuseMode::kLive));
  std::vector<Tokens> messages = {Text(137, 'S'), Text(150, 'u')};
  for (const char letter : {'b', 'c'}) {
    clients.Ask({messages, messages, messages, messages});
    messages.push_back(Text(15, 'm'));
    messages.push_back(Text(90, letter));
  }
  std::vector<std::vector<Tokens>> conversations;
  for (const char letter : {'p', 'q', 'r', 's'}) {
    messages.back() = Text(90, letter);
    conversations.push_back(messages);
  }
  EXPECT_LE(clients.Ask(conversations), 4 * (15 + 90 + 2 * kFrameTokens));
}

// The prompt's end is no cut, so `exact` cannot resume there; it prefilled the last message again.
TEST_P(MessageCuts, ExactKeepsTheCutBeforeAReplyThatFollowsTheWholePrompt) {
  Bench bench(EngineOptions(), Scheduling(ReuseMode::kExact), "auto");
  GenerationRequest asked = Chat({Text(137, 'S'), Text(50, 'u')});
  asked.shape.reply_follows = true;
  bench.Run(asked);
  GenerationRequest next = Chat({Text(137, 'S'), Text(50, 'u'), Text(30, 'r'), Text(33, 'v')});
  next.shape.reply_follows = true;
  const Bench::Answer answer = bench.Run(next);
  EXPECT_LE(answer.end.cost.prefill_tokens(), 30 + 33 + kFrameTokens + 1);
  EXPECT_EQ(answer.text, Cold(next));
}

// An engine of which the start found out other traits.
class EngineWithTraits final : public FakeEngine {
 public:
  explicit EngineWithTraits(const FakeEngineOptions& options)
      : FakeEngine(options), found(FakeEngine::traits()) {}
  const MemoryTraits& traits() const override { return found; }

  MemoryTraits found;
};

TEST_P(MessageCuts, AreNotUsedWhereTheEngineFoundThemInexact) {
  EngineWithTraits engine(EngineOptions());
  engine.found.cuts_at_messages = false;
  EXPECT_TRUE(CutRulesOf(engine, Scheduling(ReuseMode::kLive)).message_starts.empty());
  const FakeEngine exact(EngineOptions());
  EXPECT_EQ(CutRulesOf(exact, Scheduling(ReuseMode::kLive)).message_starts, Tokens{kStart});
  EXPECT_EQ(CutRulesOf(exact, Scheduling(ReuseMode::kAny)).grid_tokens, 1U);
}

TEST_P(MessageCuts, AreUsedByLiveAloneWhereABitMayChange) {
  EngineWithTraits engine(EngineOptions());
  engine.found.exact_at_messages = false;
  EXPECT_EQ(CutRulesOf(engine, Scheduling(ReuseMode::kLive)).message_starts, Tokens{kStart});
  EXPECT_TRUE(CutRulesOf(engine, Scheduling(ReuseMode::kExact)).message_starts.empty());
}

INSTANTIATE_TEST_SUITE_P(Classes, MessageCuts, testing::ValuesIn(kClasses), [](const auto& of) {
  std::string name(MemoryClassName(of.param));
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace cairn::message_cuts_test
