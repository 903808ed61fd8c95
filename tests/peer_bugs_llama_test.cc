// Bugs of other servers that only the real libllama can show, on synthetic models through scheduler
// and cache: src/sched/peer_bugs_test.cc has the others. Whatever requests came before, the bits at
// a prompt's end are those of an engine that has met no other prompt.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/llama/llama_engine.h"
#include "testing/engine/test_models.h"
#include "testing/sched/played_conversation.h"
#include "testing/sched/served_engine.h"

namespace cairn {
namespace {

constexpr size_t kGrid = 64;
constexpr size_t kAnswerTokens = 6;

std::unique_ptr<LlamaEngine> Loaded(const std::string& architecture, uint32_t window_tokens = 0) {
  auto engine = LlamaEngine::Load(test::SmallOptions(test::MadeModel(architecture, window_tokens)));
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

// Bytes that no answer has: synthetic models answer in ASCII.
Tokens RandomTokens(size_t tokens, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tokens text(tokens);
  for (Token& token : text) token = static_cast<Token>(128 + random() % 128);
  return text;
}

Tokens Joined(TokenSpan front, const Tokens& back) {
  Tokens tokens(front.begin(), front.end());
  tokens.insert(tokens.end(), back.begin(), back.end());
  return tokens;
}

// A served model, and the same model without a cache.
class Bench {
 public:
  explicit Bench(const std::string& architecture, uint32_t window_tokens = 0,
                 const std::string& placement = "auto", size_t answer_tokens = kAnswerTokens)
      : served_(Loaded(architecture, window_tokens), Options(placement, answer_tokens)),
        plain_(Loaded(architecture, window_tokens), answer_tokens) {}

  // Returns the tokens prefilled. `compare` false: the answer is not checked.
  size_t Read(const Tokens& tokens, bool compare = true) {
    test::PlayedPrompt prompt;
    prompt.tokens = tokens;
    prompt.shape.tokens = tokens.size();
    const test::ServedAnswer answer = served_.Ask(prompt);
    served_.cache().CheckInvariants();
    if (!compare) return answer.prefill_tokens;
    const test::ServedAnswer cold = plain_.AskCold(tokens);
    EXPECT_EQ(answer.logits, cold.logits);
    EXPECT_EQ(answer.text, cold.text);
    return answer.prefill_tokens;
  }

  const MemoryTraits& traits() const { return served_.engine().traits(); }
  SchedulerStats stats() const { return served_.stats(); }

 private:
  static test::ServedOptions Options(const std::string& placement, size_t answer_tokens) {
    test::ServedOptions options;
    options.placement = placement;
    options.answer_tokens = answer_tokens;
    return options;
  }

  test::Served served_;
  test::Plain plain_;
};

constexpr std::array<const char*, 5> kOfEveryMemory = {"llama", "gemma3", "mamba2", "qwen35",
                                                       "lfm2"};

// A restored state already has its last token: LMCache #5249 applied it again. llama-server steps
// back by a token, which a recurrent memory refuses: llama.cpp #23206.
TEST(PeerBugsLlama, TheLastTokenIsNotAppliedTwice) {
  for (const char* architecture : kOfEveryMemory) {
    Bench bench(architecture);
    for (const size_t length : {2, 63, 64, 65, 128, 129}) {
      SCOPED_TRACE(testing::Message() << architecture << ", " << length << " tokens");
      const Tokens tokens = RandomTokens(length + 1, length);
      for (const size_t end : {length, length - 1, length, length + 1, length + 1}) {
        bench.Read(Joined(TokenSpan(tokens).first(end), {}));
      }
    }
  }
}

// The same prompt again, at once and after another: llama.cpp #23206 ended the process over it,
// SGLang #22935 prefills all of it.
TEST(PeerBugsLlama, AnIdenticalPromptSentAgainReadsNothing) {
  for (const char* architecture : kOfEveryMemory) {
    SCOPED_TRACE(architecture);
    Bench bench(architecture);
    for (const size_t length : {64, 333}) {
      const Tokens tokens = RandomTokens(length, length);
      bench.Read(tokens);
      EXPECT_EQ(bench.Read(tokens), 0u);
      bench.Read(RandomTokens(200, 7));
      EXPECT_EQ(bench.Read(tokens), 0u);
    }
  }
}

// A single token has none before it to step back to; llama.cpp #17118 is an abort of a slot that
// claims tokens while its memory holds none.
TEST(PeerBugsLlama, APromptOfOneTokenIsLikeAnyOther) {
  const Tokens tokens = RandomTokens(200, 1);
  for (const char* architecture : kOfEveryMemory) {
    SCOPED_TRACE(architecture);
    Bench bench(architecture);
    EXPECT_EQ(bench.Read({tokens[0]}), 1u);
    EXPECT_EQ(bench.Read({tokens[0]}), 0u);
    bench.Read(tokens);
    bench.Read({tokens[0]});
  }
}

// The reach of a window is easily miscounted by one: llama.cpp #20726, #23280, #24110, #24411.
// These prompts diverge around the edges of the grid and of the window, with and without an answer
// that moves the window on. One token after a grid multiple, a single cell decides whether the slot
// may be truncated there.
TEST(PeerBugsLlama, TheEdgeOfAWindowIsNotOffByOne) {
  struct Way {
    const char* placement;
    size_t answer_tokens;
  };
  for (const uint32_t window : {63U, 64U, 65U}) {
    for (const Way& way : {Way{"none", 1}, Way{"none", kAnswerTokens}, Way{"near-end", 1}}) {
      Bench bench("gemma3", window, way.placement, way.answer_tokens);
      uint64_t seed = 100;
      for (const size_t length : {6 * kGrid + 1, 6 * kGrid + 2}) {
        const Tokens first = RandomTokens(length, length);
        for (const size_t shared :
             {size_t{window} + 1, length - window, 6 * kGrid - 1, 6 * kGrid}) {
          SCOPED_TRACE(testing::Message() << "window " << window << ", " << way.placement << ", "
                                          << shared << " of " << length << " shared");
          bench.Read(first);
          bench.Read(Joined(TokenSpan(first).first(shared), RandomTokens(100, ++seed)));
        }
      }
    }
  }
}

// A window that still reaches the last grid multiple can be truncated to it without a checkpoint.
TEST(PeerBugsLlama, AWindowThatIsStillThereIsCutWithoutACheckpoint) {
  Bench bench("gemma3", 64, "none", 1);
  const Tokens first = RandomTokens(6 * kGrid + 1, 1);
  bench.Read(first);
  EXPECT_EQ(bench.Read(Joined(TokenSpan(first).first(6 * kGrid), RandomTokens(10, 2))), 10u);
}

// Cells of a window that two sequences share are not free before both are gone, and the context can
// run out of them: llama.cpp #17118, #25452. A segment shares cells in this way
// (engine/llama/state/llama_segments.cc).
TEST(PeerBugsLlama, TwoForksOfOneSlidingWindowBothGoOnForThousandsOfTokens) {
  Bench bench("gemma3", 96);
  ASSERT_TRUE(bench.traits().segments);
  const Tokens trunk = RandomTokens(600, 1);
  std::array<Tokens, 2> forks = {trunk, trunk};
  bench.Read(trunk);
  for (size_t turn = 0; turn < 20; ++turn) {
    Tokens& fork = forks[turn % 2];
    const size_t known = fork.size();
    fork = Joined(fork, RandomTokens(301, 100 + turn));
    // Cold runs take most of this test's time.
    const bool compare = turn % 4 == 3 || turn >= 18;
    EXPECT_LT(bench.Read(fork, compare), fork.size() - known + kGrid) << "turn " << turn;
  }
  EXPECT_GT(forks[0].size(), 3500u);
  EXPECT_EQ(bench.stats().slot_counters.failed, 0u);
}

// A cell of these models has three positions, two of which a state may lose: llama-server crashed
// on the saved conversation of such a model (llama.cpp #20093, #20132), and took positions for
// token counts (#19924, #20279). The recipes leave out the image encoder; the positions are
// there.
class PeerBugsMRope : public testing::TestWithParam<const char*> {};

TEST_P(PeerBugsMRope, PositionsAreNotLostByARestore) {
  Bench bench(GetParam());
  const Tokens first = RandomTokens(700, 1);
  bench.Read(first);
  // Back into the prompt, by truncation or a snapshot; then on from there.
  const Tokens diverged = Joined(TokenSpan(first).first(500), RandomTokens(300, 2));
  bench.Read(diverged);
  bench.Read(Joined(diverged, RandomTokens(100, 3)));
  if (!bench.traits().segments) {
    GTEST_SKIP() << GetParam() << " is not in the table of architectures whose segments are "
                 << "verified: what left the slot does not come back";
  }
  // Both are restored from segments after another conversation used the slot.
  bench.Read(RandomTokens(900, 4));
  EXPECT_LT(bench.Read(Joined(first, RandomTokens(50, 5))), 50 + kGrid);
  EXPECT_LT(bench.Read(Joined(diverged, RandomTokens(150, 6))), 150 + kGrid);
  EXPECT_GT(bench.stats().slot_counters.assembled, 0u);
  EXPECT_EQ(bench.stats().slot_counters.failed, 0u);
}

INSTANTIATE_TEST_SUITE_P(OfQwen, PeerBugsMRope, testing::Values("qwen35", "qwen2vl", "qwen3vl"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace cairn
