// Bugs that other servers have, or had, with states that cannot be rolled back: one test for each,
// on a model that is sensitive to every bit (testing/engine/fake_engine.h). Bugs that need libllama
// are in tests/peer_bugs_llama_test.cc. Numbers with a # are threads of the project named before
// them.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "testing/engine/fake_engine.h"
#include "testing/sched/played_conversation.h"
#include "testing/sched/served_engine.h"

namespace cairn {
namespace {

using test::PlayedMessage;
using test::PlayedPrompt;
using Talk = std::vector<PlayedMessage>;

constexpr test::MessageTokens kMessageTokens = {FakeEngine::kMessageStart, FakeEngine::kMessageEnd};
constexpr size_t kGrid = 64;
// A state as large as the attention KV of 8,192 tokens.
constexpr size_t kHeavyState = 65536;

constexpr std::array<MemoryClass, 4> kClasses = {MemoryClass::kAttention,
                                                 MemoryClass::kSlidingWindow,
                                                 MemoryClass::kRecurrent, MemoryClass::kHybrid};

// Letters that no answer contains, so that a conversation never repeats an answer by chance.
std::string Words(size_t letters, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(letters, ' ');
  for (char& letter : text) letter = static_cast<char>('A' + random() % 26);
  return text;
}

Tokens RandomTokens(size_t tokens, uint64_t seed) {
  const std::string words = Words(tokens, seed);
  return {words.begin(), words.end()};
}

PlayedPrompt Rendered(const Talk& talk) {
  return test::Render(talk, true, kMessageTokens);
}

// A prompt that is not a chat.
PlayedPrompt Raw(Tokens tokens) {
  PlayedPrompt prompt;
  prompt.shape.tokens = tokens.size();
  prompt.tokens = std::move(tokens);
  return prompt;
}

PlayedPrompt Front(const Tokens& tokens, size_t count) {
  return Raw(Tokens(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(count)));
}

FakeEngineOptions ModelOf(MemoryClass memory_class) {
  FakeEngineOptions options;
  options.memory_class = memory_class;
  options.end_one_in = 0;
  return options;
}

class Bench {
 public:
  explicit Bench(const FakeEngineOptions& model, const test::ServedOptions& options = {})
      : model_(model),
        answer_tokens_(options.answer_tokens),
        served_(std::make_unique<FakeEngine>(model), options) {}

  test::ServedAnswer Ask(const PlayedPrompt& prompt) {
    test::ServedAnswer answer = served_.Ask(prompt);
    served_.cache().CheckInvariants();
    return answer;
  }
  // Sends a prompt that contains no answer, so the answer must equal that of an engine that has
  // seen no other prompt. Returns the prefilled tokens.
  size_t Read(const PlayedPrompt& prompt) {
    const test::ServedAnswer answer = Ask(prompt);
    test::Plain plain(std::make_unique<FakeEngine>(model_), answer_tokens_);
    const test::ServedAnswer cold = plain.AskCold(prompt.tokens);
    EXPECT_EQ(answer.logits, cold.logits);
    EXPECT_EQ(answer.text, cold.text);
    return answer.prefill_tokens;
  }

  SchedulerStats stats() const { return served_.stats(); }
  CacheStats cache_stats() const { return served_.cache().stats(); }

 private:
  const FakeEngineOptions model_;
  const size_t answer_tokens_;
  test::Served served_;
};

// SGLang's default strategy keeps the state after prompt and answer only (#22935), and so did
// KoboldCpp (#2183) and Rapid-MLX (#163, #214): as soon as a client leaves the reasoning out of the
// history, no state lies on the next prompt's path, and all of it is prefilled.
TEST(PeerBugs, AStateOnlyAtTheVeryEndIsNotAllThatIsKept) {
  Talk talk = {{'s', "", Words(1500, 1)}, {'u', "", Words(300, 2)}};
  const PlayedPrompt first = Rendered(talk);
  talk.push_back({'a', Words(400, 3), Words(200, 4)});
  talk.push_back({'u', "", Words(100, 5)});
  const PlayedPrompt next = Rendered(talk);
  const size_t added = next.tokens.size() - first.shape.messages_end;
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(ModelOf(memory_class));
    bench.Read(first);
    EXPECT_LT(bench.Read(next), added + kGrid);
  }
  // With only the state at the end, all of it is prefilled.
  test::ServedOptions only_ends;
  only_ends.placement = "none";
  Bench bench(ModelOf(MemoryClass::kHybrid), only_ends);
  bench.Read(first);
  EXPECT_EQ(bench.Read(next), next.tokens.size());
}

// Returns the tokens prefilled when a client returns to each quarter of a conversation of 100
// turns, with room for as many states as llama-server keeps of one: 32.
size_t ReadAfterGoingBack(const std::string& eviction) {
  size_t read = 0;
  for (const size_t kept_turns : {25, 50, 75}) {
    FakeEngineOptions model = ModelOf(MemoryClass::kHybrid);
    model.recurrent_bytes = kHeavyState;
    test::ServedOptions options;
    options.cache.ram_bytes_max = 32 * kHeavyState;
    options.eviction = eviction;
    Bench bench(model, options);
    Talk talk = {{'s', "", Words(500, 1)}};
    Talk kept;
    for (size_t turn = 0; turn < 100; ++turn) {
      talk.push_back({'u', "", Words(200, 100 + turn)});
      bench.Ask(Rendered(talk));
      talk.push_back({'a', "", Words(200, 200 + turn)});
      if (turn + 1 == kept_turns) kept = talk;
    }
    kept.push_back({'u', "", Words(50, 300)});
    read += bench.Read(Rendered(kept));
  }
  return read;
}

// Evicting the oldest state first leaves states at the tail only: mlx-serve #310, SGLang #38000,
// llama.cpp #25592 (llama-server still does). A client that goes back causes a complete prefill.
TEST(PeerBugs, OldestFirstEvictionThatLeavesOnlyTheTailIsNotTheDefault) {
  EXPECT_LT(ReadAfterGoingBack("value"), ReadAfterGoingBack("fifo") / 10);
}

// A restored state already contains its last token. LMCache applied that token again (#5249);
// llama-server steps back by one token because it keeps no logits, and when the memory refused that
// step, the process ended (llama.cpp #23206); a binding of llama.cpp's decoded no token at all
// (JamePeng/llama-cpp-python #178). So: prompts that end at, before and after a state.
TEST(PeerBugs, TheLastTokenIsNotAppliedTwice) {
  for (const MemoryClass memory_class : kClasses) {
    for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact, ReuseMode::kAny}) {
      for (const size_t length : {63, 64, 65, 127, 128, 129, 300}) {
        SCOPED_TRACE(testing::Message() << MemoryClassName(memory_class) << ", mode "
                                        << static_cast<int>(reuse) << ", " << length << " tokens");
        FakeEngineOptions model = ModelOf(memory_class);
        // Where no cut changes a bit, `any` must give the answer of a cold run too.
        if (reuse == ReuseMode::kAny) model.grid_tokens = 1;
        test::ServedOptions options;
        options.reuse = reuse;
        Bench bench(model, options);
        const Tokens tokens = RandomTokens(length + 1, length);
        for (const size_t end : {length, length - 1, length, length + 1, length + 1, length}) {
          bench.Read(Front(tokens, end));
        }
      }
    }
  }
}

// Returning to an earlier turn erases every later checkpoint of llama-server's slot, so that
// resuming the abandoned branch costs a prefill of all of it. Its RAM cache hands a state to one
// request, which then has the only copy.
TEST(PeerBugs, CheckpointsOfABranchAreNotLostWhenAnotherIsTaken) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(ModelOf(memory_class));
    Talk trunk = {{'s', "", Words(1000, 1)}};
    for (size_t turn = 0; turn < 3; ++turn) {
      trunk.push_back({'u', "", Words(200, 10 + turn)});
      bench.Read(Rendered(trunk));
      trunk.push_back({'a', "", Words(200, 20 + turn)});
    }
    std::array<Talk, 2> branches = {trunk, trunk};
    std::array<size_t, 2> ends = {0, 0};  // message ends of each branch's last prompt
    for (size_t turn = 0; turn < 8; ++turn) {
      const size_t i = turn % 2;
      Talk& branch = branches[i];
      branch.push_back({'u', "", Words(700, 100 + turn)});
      const PlayedPrompt prompt = Rendered(branch);
      const size_t read = bench.Read(prompt);
      if (ends[i] > 0) {
        EXPECT_LT(read, prompt.tokens.size() - ends[i] + kGrid) << "turn " << turn;
      }
      ends[i] = prompt.shape.messages_end;
      branch.push_back({'a', "", Words(100, 200 + turn)});
    }
  }
}

// The tokens that a window still holds are easily miscounted by one: llama-server corrected its
// threshold three times (llama.cpp #20726, #23280, #24110) and notes that it is still wrong for
// windows (#24411). Windows of a grid step and a token more or less, and prompts that diverge
// anywhere.
TEST(PeerBugs, TheEdgeOfAWindowIsNotOffByOne) {
  constexpr size_t kLength = 300;
  const Tokens first = RandomTokens(kLength, 1);
  for (const size_t window : {1, 63, 64, 65, 127, 128, 129}) {
    for (const char* placement : {"none", "near-end", "auto"}) {
      for (size_t shared = 1; shared <= kLength; shared += 3) {
        SCOPED_TRACE(testing::Message()
                     << "window " << window << ", " << placement << ", " << shared << " shared");
        FakeEngineOptions model = ModelOf(MemoryClass::kSlidingWindow);
        model.window_tokens = window;
        test::ServedOptions options;
        options.placement = placement;
        options.answer_tokens = 2;
        Bench bench(model, options);
        bench.Read(Raw(first));
        Tokens other = first;
        std::fill(other.begin() + static_cast<ptrdiff_t>(shared), other.end(), 'z');
        bench.Read(Raw(other));
        bench.Read(Raw(first));
      }
    }
  }
}

// Every retry and every regeneration sends the same prompt again. llama-server prefills its last
// tokens anew, and lost everything or the process over it (llama.cpp #23206, #22929); SGLang's
// default finds nothing (#22935). Here nothing is prefilled, in `live` also after other
// conversations used the slot. `exact` stores no attention KV off the grid, so there a conversation
// that lost the slot prefills its last chunk.
TEST(PeerBugs, AnIdenticalPromptSentAgainReadsNothing) {
  for (const MemoryClass memory_class : kClasses) {
    for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact}) {
      SCOPED_TRACE(testing::Message()
                   << MemoryClassName(memory_class) << ", mode " << static_cast<int>(reuse));
      test::ServedOptions options;
      options.reuse = reuse;
      Bench bench(ModelOf(memory_class), options);
      const PlayedPrompt prompt = Rendered({{'s', "", Words(700, 1)}, {'u', "", Words(333, 2)}});
      EXPECT_EQ(bench.Read(prompt), prompt.tokens.size());
      EXPECT_EQ(bench.Read(prompt), 0u);
      EXPECT_EQ(bench.Read(prompt), 0u);
      bench.Read(Rendered({{'s', "", Words(400, 3)}, {'u', "", Words(50, 4)}}));
      EXPECT_LT(bench.Read(prompt), reuse == ReuseMode::kLive ? 1 : kGrid);
    }
  }
}

// A position one ubatch before the end does not exist in a shorter prompt. llama-server clamps it;
// with a minimum step longer than the prompt it kept the oldest checkpoint only (llama.cpp #28302),
// and took none of prompts below 64 tokens (buun-llama-cpp #26 lowers it to 4).
TEST(PeerBugs, NearEndHoldsForPromptsShorterThanAMicroBatch) {
  for (const MemoryClass memory_class : kClasses) {
    for (const size_t letters : {1, 20, 61, 62, 63, 64, 100, 200, 450}) {
      SCOPED_TRACE(testing::Message() << MemoryClassName(memory_class) << ", " << letters);
      test::ServedOptions options;
      options.placement = "near-end";
      options.cache.min_step_tokens = 8192;
      Bench bench(ModelOf(memory_class), options);
      Talk talk = {{'u', "", Words(letters, 1)}};
      for (size_t turn = 0; turn < 4; ++turn) {
        bench.Read(Rendered(talk));
        const size_t held = Rendered(talk).shape.messages_end;
        talk.push_back({'a', Words(30, 10 + turn), Words(20, 20 + turn)});
        talk.push_back({'u', "", Words(15, 30 + turn)});
        const PlayedPrompt next = Rendered(talk);
        EXPECT_LT(bench.Read(next), next.tokens.size() - held + kGrid);
      }
    }
  }
}

// A prompt of one token has no token before its last: stepping back by one leaves the prompt.
// llama.cpp #17118 ends the process when a slot claims tokens and its memory holds none.
TEST(PeerBugs, APromptOfOneTokenIsLikeAnyOther) {
  for (const MemoryClass memory_class : kClasses) {
    for (const ReuseMode reuse : {ReuseMode::kLive, ReuseMode::kExact}) {
      SCOPED_TRACE(testing::Message()
                   << MemoryClassName(memory_class) << ", mode " << static_cast<int>(reuse));
      test::ServedOptions options;
      options.reuse = reuse;
      Bench bench(ModelOf(memory_class), options);
      const Tokens tokens = RandomTokens(200, 1);
      EXPECT_EQ(bench.Read(Front(tokens, 1)), 1u);
      EXPECT_EQ(bench.Read(Front(tokens, 1)), 0u);
      bench.Read(Front(tokens, 2));
      bench.Read(Front(tokens, 200));
      bench.Read(Front(tokens, 1));
    }
  }
}

// Cells of a window that two sequences share stay occupied as long as one of them lives, and a
// context can run out of them: llama.cpp #17118, seen again in #25452. Two forks of one
// conversation, both of which continue.
TEST(PeerBugs, TwoForksOfOneSlidingWindowBothGoOnForThousandsOfTokens) {
  FakeEngineOptions model = ModelOf(MemoryClass::kSlidingWindow);
  Bench bench(model);
  const Talk trunk = {{'s', "", Words(900, 1)}};
  std::array<Talk, 2> forks = {trunk, trunk};
  std::array<size_t, 2> ends = {0, 0};
  for (size_t turn = 0; turn < 24; ++turn) {
    const size_t i = turn % 2;
    forks[i].push_back({'u', "", Words(300, 100 + turn)});
    const PlayedPrompt prompt = Rendered(forks[i]);
    const size_t read = bench.Read(prompt);
    if (ends[i] > 0) {
      EXPECT_LT(read, prompt.tokens.size() - ends[i] + kGrid) << turn;
    }
    ends[i] = prompt.shape.messages_end;
    forks[i].push_back({'a', "", Words(50, 200 + turn)});
  }
  EXPECT_GT(ends[0], 4000u);
  EXPECT_GT(ends[1], 4000u);
}

// An agent's task: a system prefix, one query, and steps of reasoning, a call and its result.
struct ToolLoop {
  // `prompts[i]` was sent before step i + 1.
  std::vector<PlayedPrompt> prompts;
  Talk talk;
};

ToolLoop PlayToolLoop(Bench* bench, size_t steps) {
  ToolLoop loop;
  loop.talk = {{'s', "", Words(2000, 1)}, {'u', "", Words(300, 2)}};
  for (size_t step = 0; step < steps; ++step) {
    loop.prompts.push_back(Rendered(loop.talk));
    const test::ServedAnswer answer = bench->Ask(loop.prompts.back());
    // The answer comes back unchanged, including its reasoning.
    loop.talk.push_back({'a', answer.text.substr(0, 60), answer.text.substr(60)});
    loop.talk.push_back({'t', "", Words(150, 1000 + step)});
  }
  return loop;
}

test::ServedOptions ToolLoopOptions() {
  test::ServedOptions options;
  options.answer_tokens = 100;
  return options;
}

// At the next query clients drop all reasoning since the last one, and every checkpoint of the tool
// loop becomes useless. llama-server has none of the query left by then, as it evicts the oldest
// first: requested in llama.cpp #23814, where the last user checkpoint was to be kept at all times,
// and not built.
TEST(PeerBugs, TheStateAfterTheLastQuerySurvivesSixtyToolSteps) {
  for (const MemoryClass memory_class : {MemoryClass::kRecurrent, MemoryClass::kHybrid}) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    FakeEngineOptions model = ModelOf(memory_class);
    model.recurrent_bytes = kHeavyState;
    test::ServedOptions options = ToolLoopOptions();
    options.cache.ram_bytes_max = 6 * kHeavyState;
    Bench bench(model, options);
    ToolLoop loop = PlayToolLoop(&bench, 60);
    const size_t query_end = loop.prompts.front().shape.messages_end;
    EXPECT_GT(bench.cache_stats().evicted, 40u);
    loop.talk.push_back({'a', "", Words(80, 3)});
    loop.talk.push_back({'u', "", Words(120, 4)});
    const PlayedPrompt next = Rendered(loop.talk);
    EXPECT_LT(bench.Read(next), next.tokens.size() - query_end + kGrid);
  }
}

// A rewind to the tenth of sixty tool steps made llama-server 0.7.0 prefill 6,010 tokens where 318
// were new.
TEST(PeerBugs, ARewindToTheTenthOfSixtyToolStepsReadsWhatIsNewAndAGridStep) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(ModelOf(memory_class), ToolLoopOptions());
    const ToolLoop loop = PlayToolLoop(&bench, 60);
    // Everything up to the tenth result stays; another answer follows, and its result.
    const size_t held = loop.prompts[10].shape.messages_end;
    Talk talk(loop.talk.begin(), loop.talk.begin() + 2 + 2 * 10);
    talk.push_back({'a', "", Words(100, 5)});
    talk.push_back({'t', "", Words(200, 6)});
    const PlayedPrompt rewound = Rendered(talk);
    EXPECT_LE(bench.Ask(rewound).prefill_tokens, rewound.tokens.size() - held + kGrid);
  }
}

// The same, but the tenth call comes back with another result. No state is taken where an answer
// ends, so the call is prefilled once more; nothing before it is.
TEST(PeerBugs, AnotherResultOfTheTenthOfSixtyToolCallsReadsThatCallAndWhatIsNew) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    Bench bench(ModelOf(memory_class), ToolLoopOptions());
    const ToolLoop loop = PlayToolLoop(&bench, 60);
    const size_t held = loop.prompts[9].shape.messages_end;
    Talk talk(loop.talk.begin(), loop.talk.begin() + 2 + 2 * 10 - 1);
    talk.push_back({'t', "", Words(314, 6)});
    const PlayedPrompt rewound = Rendered(talk);
    EXPECT_LE(bench.Ask(rewound).prefill_tokens, rewound.tokens.size() - held + kGrid);
  }
}

// Conversations that take turns on one slot, all with one system prefix: each prompt prefills its
// own conversation's new tokens and a grid step.
void PlayInterleaved(MemoryClass memory_class, size_t people) {
  constexpr size_t kHeader = 8000;
  constexpr size_t kTurns = 4;
  Bench bench(ModelOf(memory_class));
  const std::string header = Words(kHeader, 1);
  std::vector<Talk> talks(people, Talk{{'s', "", header}});
  std::vector<size_t> ends(people, kHeader);  // of the tokens known to the server
  for (size_t turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < people; ++i) {
      talks[i].push_back({'u', "", Words(150, 1000 * i + turn)});
      const PlayedPrompt prompt = Rendered(talks[i]);
      const size_t read = bench.Read(prompt);
      if (turn + i == 0) {
        EXPECT_EQ(read, prompt.tokens.size());
      } else {
        EXPECT_LT(read, prompt.tokens.size() - ends[i] + kGrid) << "turn " << turn << " of " << i;
      }
      ends[i] = prompt.shape.messages_end;
      talks[i].push_back({'a', "", Words(60, 2000 * i + turn)});
    }
  }
}

// Checkpoints that belong to a slot are lost when another conversation takes it. llama-server 0.7.0
// prefilled 2.39 times the necessary tokens when two agents with one system prefix took turns; see
// also llama.cpp #22942.
TEST(PeerBugs, TwoInterleavedConversationsReadTheirHeaderOnce) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    PlayInterleaved(memory_class, 2);
  }
}

TEST(PeerBugs, TwelveInterleavedConversationsReadTheirHeaderOnce) {
  for (const MemoryClass memory_class : kClasses) {
    SCOPED_TRACE(MemoryClassName(memory_class));
    PlayInterleaved(memory_class, 12);
  }
}

}  // namespace
}  // namespace cairn
