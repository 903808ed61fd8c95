#include "api/prompt/context_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace cairn::context_window_test {
namespace {

using Messages = std::vector<SizedMessage>;

constexpr WindowRules kRules = {1000, 100};

// `turns` turns of a question and an answer, of so many tokens together.
Messages Turns(size_t turns, size_t tokens) {
  Messages messages;
  for (size_t i = 0; i < turns; ++i) {
    messages.push_back({tokens / 2, true});
    messages.push_back({tokens - tokens / 2, false});
  }
  return messages;
}

size_t Used(size_t header, const Messages& messages, size_t start) {
  size_t used = header;
  for (size_t i = start; i < messages.size(); ++i) used += messages[i].tokens;
  return used;
}

size_t LastTurn(const Messages& messages) {
  size_t last = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].begins_turn) last = i;
  }
  return last;
}

TEST(ContextWindow, LeavesWhatFitsAsItIs) {
  EXPECT_EQ(CutToWindow(200, Turns(6, 100), kRules), (WindowCut{0, {}}));
  EXPECT_EQ(CutToWindow(200, {}, kRules), WindowCut{});
}

// A client may send very many messages with nothing in them. Where each made the server look at all
// before it, this would take an hour.
TEST(ContextWindow, LooksAtTheTurnsAndNotAtEachMessageOfThem) {
  Messages messages(1'000'000, {1, false});
  messages[0].begins_turn = true;
  EXPECT_EQ(CutToWindow(0, messages, kRules), (WindowCut{0, {}}));
}

TEST(ContextWindow, KnowsFromEightyPercentOnWhereItWillCut) {
  // 820 tokens: from turn 4 on, header and turns take 420.
  Messages messages = Turns(6, 100);
  messages.push_back({20, true});
  EXPECT_EQ(CutToWindow(200, messages, kRules), (WindowCut{0, 8}));
  messages.push_back({60, false});
  EXPECT_EQ(CutToWindow(200, messages, kRules), (WindowCut{0, 8}));
}

TEST(ContextWindow, CutsThereOnceItOverflowsAndNotAgainForLong) {
  Messages messages = Turns(6, 100);
  messages.push_back({20, true});
  messages.push_back({80, false});
  messages.push_back({20, true});
  EXPECT_EQ(CutToWindow(200, messages, kRules), (WindowCut{8, {}}));
  messages.push_back({80, false});
  const Messages more = Turns(2, 100);
  messages.insert(messages.end(), more.begin(), more.end());
  EXPECT_EQ(CutToWindow(200, messages, kRules), (WindowCut{8, {}}));
}

TEST(ContextWindow, KeepsTheLastTurnHoweverLongItIs) {
  Messages messages = Turns(3, 100);
  messages.push_back({2000, true});
  EXPECT_EQ(CutToWindow(200, messages, kRules).start, 6u);
  messages.push_back({10, false});
  EXPECT_EQ(CutToWindow(200, messages, kRules).start, 6u);
  EXPECT_EQ(CutToWindow(5000, Turns(3, 100), kRules).start, 4u);
}

TEST(ContextWindow, PartsNoTurn) {
  Messages messages = {{100, true}, {300, false}, {300, false}, {250, false}, {30, true}};
  EXPECT_EQ(CutToWindow(0, messages, kRules), (WindowCut{4, {}}));
}

struct Case {
  size_t header = 0;
  Messages messages;
};

Case RandomCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Case made;
  made.header = random() % 400;
  const size_t size_max = 1 + random() % 300;
  const size_t count = 1 + random() % 60;
  for (size_t i = 0; i < count; ++i) {
    made.messages.push_back({random() % size_max, i == 0 || random() % 3 == 0});
  }
  return made;
}

TEST(ContextWindow, TheNextTurnsCutIsTheSameUntilItOverflowsAgain) {
  size_t cuts = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = RandomCase(seed);
    WindowCut before;
    for (size_t count = 1; count <= made.messages.size(); ++count) {
      const Messages messages(made.messages.begin(),
                              made.messages.begin() + static_cast<ptrdiff_t>(count));
      const WindowCut cut = CutToWindow(made.header, messages, kRules);
      ASSERT_TRUE(messages[cut.start].begins_turn);
      const size_t used = Used(made.header, messages, cut.start);
      ASSERT_TRUE(used <= kRules.limit() || cut.start == LastTurn(messages));
      if (Used(made.header, messages, before.start) <= kRules.limit()) {
        ASSERT_EQ(cut.start, before.start);
        if (before.planned) {
          ASSERT_EQ(cut.planned, before.planned);
        }
      } else if (before.planned && Used(made.header, messages, *before.planned) <= kRules.limit()) {
        // What was announced is what is done.
        ASSERT_EQ(cut.start, *before.planned);
        ++cuts;
      }
      if (cut.planned) {
        ASSERT_GT(*cut.planned, cut.start);
        ASSERT_TRUE(messages[*cut.planned].begins_turn);
      }
      before = cut;
    }
  }
  EXPECT_GT(cuts, 500u);
}

}  // namespace
}  // namespace cairn::context_window_test
