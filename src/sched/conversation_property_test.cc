// Random conversations against the whole of scheduler, cache and engine. What people do between
// two requests: add a turn, edit the last or an earlier one, ask again, fork, or have a template
// that strips old reasoning.
//
// `exact`: every answer is that of an engine without a cache. `live`: every answer is that of an
// engine that was given some of the turns before it, in order and without an interruption.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "engine/fake_engine.h"
#include "sched/scheduler.h"

namespace cairn {
namespace {

constexpr size_t kAnswerTokensMax = 40;

struct Message {
  char role = 'u';
  std::string reasoning;
  std::string content;
};

struct RenderedPrompt {
  Tokens tokens;
  PromptShape shape;
};

// As ChatML with a template that keeps reasoning only after the last user message.
RenderedPrompt Render(const std::vector<Message>& messages, bool strips_reasoning) {
  size_t last_user = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == 'u') last_user = i;
  }
  RenderedPrompt prompt;
  const auto append = [&](const std::string& text) {
    prompt.tokens.insert(prompt.tokens.end(), text.begin(), text.end());
  };
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == 'u') prompt.shape.turns.push_back({prompt.tokens.size(), true});
    if (i == 1) prompt.shape.header_end = prompt.tokens.size();
    prompt.tokens.push_back(FakeEngine::kMessageStart);
    prompt.tokens.push_back(messages[i].role);
    if (!strips_reasoning || i > last_user) append(messages[i].reasoning);
    append(messages[i].content);
    prompt.tokens.push_back(FakeEngine::kMessageEnd);
  }
  prompt.shape.messages_end = prompt.tokens.size();
  prompt.tokens.push_back(FakeEngine::kMessageStart);
  prompt.tokens.push_back('a');
  prompt.shape.tokens = prompt.tokens.size();
  return prompt;
}

// An engine played by hand, without scheduler or cache.
class PlainPlayer {
 public:
  explicit PlainPlayer(const FakeEngineOptions& options) : options_(options), engine_(options) {}

  // Goes on where the last answer ended when the prompt repeats it; else starts cold.
  std::string Answer(const Tokens& prompt) {
    if (CommonPrefix(held_, prompt) < held_.size() || held_.size() >= prompt.size()) {
      engine_.Clear(0);
      held_.clear();
    }
    const size_t grid = options_.grid_tokens;
    const size_t last_cut = (prompt.size() - 1) / grid * grid;
    while (held_.size() % grid != 0 && held_.size() < prompt.size()) {
      Read(prompt, std::min(prompt.size(), (held_.size() / grid + 1) * grid));
    }
    while (held_.size() < last_cut) {
      Read(prompt, std::min(last_cut, held_.size() + options_.piece_tokens_max));
    }
    if (held_.size() < prompt.size()) Read(prompt, prompt.size());
    return Generate();
  }

 private:
  void Read(const Tokens& prompt, size_t end) {
    const TokenSpan piece = TokenSpan(prompt).subspan(held_.size(), end - held_.size());
    EXPECT_TRUE(engine_.Decode(0, held_.size(), piece));
    held_.insert(held_.end(), piece.begin(), piece.end());
  }
  std::string Generate() {
    std::string text;
    const auto sampler = engine_.MakeSampler({});
    while (true) {
      const Token token = sampler->Sample(engine_.Logits());
      if (engine_.IsEndOfGeneration(token)) return text;
      text += engine_.Piece(token, false);
      if (text.size() == kAnswerTokensMax) return text;
      EXPECT_TRUE(engine_.Decode(0, held_.size(), {&token, 1}));
      held_.push_back(token);
    }
  }

  const FakeEngineOptions options_;
  FakeEngine engine_;
  Tokens held_;
};

struct Scenario {
  uint64_t seed;
  MemoryClass memory_class;
  ReuseMode reuse;
};

class ConversationRun {
 public:
  explicit ConversationRun(const Scenario& scenario)
      : scenario_(scenario),
        random_(scenario.seed),
        engine_(EngineOptions(scenario)),
        cache_(Cache(), *MakePlacement("near-end,user-turns"), *MakeEviction("lru"),
               MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, {scenario.reuse, 64}),
        strips_reasoning_(random_() % 2 == 0) {
    messages_ = {{'s', "", Words(200)}, {'u', "", Words(60)}};
  }

  void Play(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      const RenderedPrompt prompt = Render(messages_, strips_reasoning_);
      const std::string answer = Ask(prompt);
      Expect(prompt.tokens, answer);
      cache_.CheckInvariants();
      if (::testing::Test::HasFailure()) return;
      Change(answer);
    }
  }

 private:
  static FakeEngineOptions EngineOptions(const Scenario& scenario) {
    FakeEngineOptions options;
    options.memory_class = scenario.memory_class;
    options.grid_tokens = 16;
    options.piece_tokens_max = 48;
    options.window_tokens = 40;
    options.seed = scenario.seed;
    return options;
  }
  // Small enough that checkpoints are given up all the time in some runs.
  CacheOptions Cache() {
    CacheOptions options;
    options.ram_bytes_max = random_() % 2 == 0 ? 1200 : 1 << 20;
    return options;
  }
  std::string Words(size_t letters_max) {
    std::string text(1 + random_() % letters_max, ' ');
    for (char& letter : text) letter = static_cast<char>('A' + random_() % 26);
    return text;
  }

  std::string Ask(const RenderedPrompt& prompt) {
    GenerationRequest request;
    request.prompt = prompt.tokens;
    request.shape = prompt.shape;
    request.params.tokens_max = kAnswerTokensMax;
    const uint64_t before = engine_.decoded_tokens();
    auto generation = scheduler_.Submit(std::move(request));
    EXPECT_TRUE(generation.has_value());
    while (scheduler_.Step()) {
    }
    std::string text;
    GenerationEvent last;
    while (auto event = (*generation)->Next(std::chrono::milliseconds(0))) {
      text += event->text;
      last = *event;
    }
    EXPECT_EQ(last.kind, GenerationEvent::Kind::kDone);
    EXPECT_LE(last.cost.read_tokens(), prompt.tokens.size());
    EXPECT_LE(engine_.decoded_tokens() - before,
              last.cost.read_tokens() + last.cost.generated_tokens);
    return text;
  }

  void Expect(const Tokens& prompt, const std::string& answer) {
    const FakeEngineOptions options = EngineOptions(scenario_);
    if (scenario_.reuse == ReuseMode::kExact) {
      EXPECT_EQ(answer, PlainPlayer(options).Answer(prompt));
      return;
    }
    // An answer may be so short that several conversations give it, so all of them are kept.
    std::set<std::vector<Tokens>> found;
    for (const std::vector<Tokens>& history : histories_) {
      for (size_t kept = 0; kept <= history.size(); ++kept) {
        std::vector<Tokens> path(history.begin(), history.begin() + static_cast<ptrdiff_t>(kept));
        PlainPlayer player(options);
        for (const Tokens& earlier : path) player.Answer(earlier);
        path.push_back(prompt);
        if (player.Answer(prompt) == answer) found.insert(std::move(path));
      }
    }
    EXPECT_FALSE(found.empty()) << "no uninterrupted conversation gives this answer";
    histories_.merge(found);
  }

  // What the person does next.
  void Change(const std::string& answer) {
    const size_t reasoning = answer.empty() ? 0 : random_() % answer.size();
    past_.push_back(messages_);
    switch (random_() % 8) {
      case 0:  // ask again
        return;
      case 3:  // undo, or redo what was undone
        messages_ = past_[random_() % past_.size()];
        return;
      case 1:  // edit the last message
        messages_.back().content = messages_.back().content.substr(0, random_() % 20) + Words(50);
        return;
      case 2: {  // go back to an earlier turn and take another way
        const size_t keep = 1 + random_() % (messages_.size() - 1);
        messages_.resize(keep);
        messages_.push_back({'u', "", Words(60)});
        return;
      }
      default:
        messages_.push_back({'a', answer.substr(0, reasoning), answer.substr(reasoning)});
        messages_.push_back({random_() % 4 == 0 ? 't' : 'u', "", Words(60)});
    }
  }

  const Scenario scenario_;
  std::mt19937_64 random_;
  SteadyClock clock_;
  FakeEngine engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  const bool strips_reasoning_;
  std::vector<Message> messages_;
  std::vector<std::vector<Message>> past_;
  // Uninterrupted conversations, each a list of prompts, that led to states met so far.
  std::set<std::vector<Tokens>> histories_ = {{}};
};

constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kAttention,
                                                 MemoryClass::kSlidingWindow,
                                                 MemoryClass::kRecurrent, MemoryClass::kHybrid};

void PlayMany(uint64_t conversations, int turns, ReuseMode reuse) {
  for (uint64_t seed = 1; seed <= conversations; ++seed) {
    for (const MemoryClass memory_class : kClasses) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << MemoryClassName(memory_class));
      ConversationRun({seed, memory_class, reuse}).Play(turns);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ConversationProperty, ExactReuseAnswersAsAnEngineWithoutACache) {
  PlayMany(1000, 10, ReuseMode::kExact);
}

TEST(ConversationProperty, LiveReuseAnswersAsAnUninterruptedConversation) {
  PlayMany(40, 8, ReuseMode::kLive);
}

}  // namespace
}  // namespace cairn
