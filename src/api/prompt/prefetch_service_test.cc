// The next turn read ahead, from the conversation to the scheduler.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "api/answer/answer_reader.h"
#include "api/service/chat_service.h"
#include "sched/scheduler.h"
#include "testing/chat/test_templates.h"
#include "testing/engine/one_answer_engine.h"

namespace cairn::prefetch_service_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

constexpr size_t kGrid = 64;

const std::string& Thought() {
  static const std::string text(300, 't');
  return text;
}
const std::string& Said() {
  static const std::string text(400, 's');
  return text;
}

class PrefetchServed {
 public:
  explicit PrefetchServed(std::string template_source, std::string answer,
                          ReuseMode reuse = ReuseMode::kLive)
      : engine_(EngineOptions(), std::move(answer)),
        cache_(CacheOptions{}, *MakePlacement("auto"), *MakeEviction("value"), MakeRamStore()),
        scheduler_(&engine_, &cache_, &clock_, Scheduling(reuse)),
        template_(Parsed(std::move(template_source))),
        service_(std::make_unique<ChatService>(&engine_, template_.get(), &scheduler_, Options())),
        context_thread_([this] { scheduler_.Run(); }) {}
  ~PrefetchServed() {
    service_ = nullptr;
    scheduler_.Stop();
    context_thread_.join();
  }

  WholeAnswer Ask(const Conversation& conversation) {
    ChatRequest request;
    request.conversation = conversation;
    auto chat = service_->Start(std::move(request), 1);
    EXPECT_TRUE(chat.has_value()) << chat.error().message;
    auto answer = CollectAnswer(std::move(*chat), [] { return false; });
    EXPECT_TRUE(answer.has_value()) << answer.error().message;
    return *answer;
  }
  // Until so many tokens have been read ahead; false: they never are.
  bool WaitForPrefetched(size_t tokens) {
    for (int i = 0; i < 1000; ++i) {
      if (service_->stats().prefetch.tokens >= tokens) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // What was to be read ahead for an earlier turn may still come when the next has been answered.
  void WaitUntilNothingIsPrefetched() {
    uint64_t last = 0;
    do {
      last = warmed();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } while (warmed() != last);
  }
  uint64_t warmed() const { return service_->stats().prefetch.tokens; }
  size_t PromptTokens(const Conversation& conversation) {
    return service_->PromptTokens(conversation, 1)->size();
  }

 private:
  static FakeEngineOptions EngineOptions() {
    FakeEngineOptions options;
    options.memory_class = MemoryClass::kHybrid;
    options.context_tokens = 8192;
    options.slots = 2;
    return options;
  }
  static SchedulerOptions Scheduling(ReuseMode reuse) {
    SchedulerOptions options;
    options.reuse = reuse;
    options.prefetch.first_tokens = size_t{1} << 16U;
    return options;
  }
  static ChatServiceOptions Options() {
    ChatServiceOptions options;
    options.warm = true;
    return options;
  }

  SteadyClock clock_;
  OneAnswerEngine<FakeEngine> engine_;
  CheckpointCache cache_;
  Scheduler scheduler_;
  const std::unique_ptr<ChatTemplate> template_;
  std::unique_ptr<ChatService> service_;
  std::thread context_thread_;
};

TEST(PrefetchingService, ANewQueryAfterReasoningThatIsStrippedWaitsForItsOwnTokensAlone) {
  PrefetchServed served(kOpenThink, Thought() + "</think>" + Said());
  Conversation talk{.messages = {System(std::string(500, 'S')), User("U1")}};
  const WholeAnswer first = served.Ask(talk);
  ASSERT_EQ(first.reasoning, Thought());
  ASSERT_EQ(first.content, Said());
  // What was generated stays, and what comes back is read.
  ASSERT_TRUE(served.WaitForPrefetched(Said().size() - kGrid));
  talk.messages.push_back(Assistant(first.content));
  const size_t before = served.PromptTokens(talk);
  talk.messages.push_back(User("What else is there to say?"));
  const WholeAnswer second = served.Ask(talk);
  const size_t own = served.PromptTokens(talk) - before;
  EXPECT_LE(second.end.cost.prefill_tokens(), own + 40 + kGrid);
  EXPECT_LT(second.end.cost.prefill_tokens(), Said().size());
}

TEST(PrefetchingService, NothingIsReadAheadWhereTheAnswerComesBackAsItWasGenerated) {
  PrefetchServed served(std::string(*BuiltinTemplate("qwen")), Said());
  Conversation talk{.messages = {System(std::string(500, 'S')), User("U1")}};
  talk.messages.push_back(Assistant(served.Ask(talk).content));
  talk.messages.push_back(User("U2"));
  EXPECT_LE(served.Ask(talk).end.cost.prefill_tokens(), 64u);
  EXPECT_EQ(served.warmed(), 0u);
}

TEST(PrefetchingService, ExactReuseReadsTheAnswerAgainWhileNobodyWaits) {
  PrefetchServed served(std::string(*BuiltinTemplate("qwen")), Said(), ReuseMode::kExact);
  Conversation talk{.messages = {System(std::string(500, 'S')), User("U1")}};
  const WholeAnswer first = served.Ask(talk);
  ASSERT_TRUE(served.WaitForPrefetched(Said().size() - kGrid));
  talk.messages.push_back(Assistant(first.content));
  talk.messages.push_back(User("U2"));
  EXPECT_LE(served.Ask(talk).end.cost.prefill_tokens(), 2 * kGrid);
}

TEST(PrefetchingService, AClientThatRolledOnceWaitsForItsNewMessageAloneFromThenOn) {
  constexpr size_t kWindow = 5;
  PrefetchServed served(std::string(*BuiltinTemplate("qwen")), Said());
  const Message header = System(std::string(500, 'S'));
  Conversation talk{.messages = {header}};
  const auto ask = [&](int turn) {
    talk.messages.push_back(User("question " + std::to_string(turn) + std::string(200, 'q')));
    const bool rolls = talk.messages.size() > 1 + kWindow;
    if (rolls) talk.messages.erase(talk.messages.begin() + 1, talk.messages.begin() + 3);
    const WholeAnswer answer = served.Ask(talk);
    talk.messages.push_back(Assistant(answer.content));
    return answer.end.cost.prefill_tokens();
  };
  for (int turn = 1; turn <= 3; ++turn) ask(turn);
  const size_t header_tokens = served.PromptTokens({.messages = {header}});
  for (int turn = 4; turn <= 7; ++turn) {
    const size_t window = served.PromptTokens(talk) - header_tokens;
    const size_t warmed = served.warmed();
    const size_t read = ask(turn);
    if (turn == 4) {
      // Nobody could know of the first roll, so it reads what is left of the window.
      EXPECT_GT(read, window / 2);
    } else {
      EXPECT_LE(read, 220 + 40 + kGrid);
    }
    // The next one's, but for the oldest turn and the message that is not known.
    Conversation left = talk;
    left.messages.erase(left.messages.begin() + 1, left.messages.begin() + 3);
    const size_t goal = served.PromptTokens(left) - header_tokens - 2 * kGrid;
    ASSERT_TRUE(served.WaitForPrefetched(warmed + goal));
    served.WaitUntilNothingIsPrefetched();
  }
}

}  // namespace
}  // namespace cairn::prefetch_service_test
