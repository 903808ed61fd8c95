// What becomes of an answer that was asked for whole, and that somebody ended.

#include "api/answer/answer_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "api/anthropic/anthropic.h"
#include "api/openai/completion.h"
#include "api/openai/openai.h"
#include "api/openai/responses.h"
#include "testing/api/played_answer.h"

namespace cairn::answer_reader_test {
namespace {

using Gone = std::function<bool()>;
using Collect = std::function<ApiResult<std::string>(StartedChat, const Gone&)>;

struct Reader {
  std::string name;
  Collect collect;
};

ApiResult<std::string> CollectText(StartedChat chat, const Gone& gone) {
  StartedCompletion started;
  started.generation = std::move(chat.generation);
  started.dialect = CompletionDialect::kOpenAi;
  started.options.answers = 1;
  return CollectCompletion(started, gone);
}

// All that wait for a whole answer.
const std::vector<Reader> kReaders = {
    {"chat",
     [](StartedChat chat, const Gone& gone) {
       return CollectChat(std::move(chat), {"chatcmpl-1", "m", 0}, gone);
     }},
    {"messages",
     [](StartedChat chat, const Gone& gone) {
       return CollectMessage(std::move(chat), {"msg_1", "m", 0}, gone);
     }},
    {"responses",
     [](StartedChat chat, const Gone& gone) {
       return CollectResponse(std::move(chat), {"resp_1", "m", 0}, {}, gone);
     }},
    {"completions", CollectText}};

StartedChat Cut() {
  return Play({{AnswerDelta::Kind::kContent, "The answer is not", 0}}, FinishReason::kCancelled);
}

StartedChat Whole() {
  return Play({{AnswerDelta::Kind::kContent, "The answer is not 42.", 0}}, FinishReason::kStop);
}

// It went out as 200 with what there was by then, as if the model had stopped there: to whoever
// still heard it, as the server was ending.
TEST(WholeAnswer, ThatTheServersEndCutsIsAnErrorAndNotItsBeginning) {
  for (const Reader& reader : kReaders) {
    SCOPED_TRACE(reader.name);
    const auto answer = reader.collect(Cut(), [] { return true; });
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().status, 503);
  }
}

TEST(WholeAnswer, ThatWasReadyAsTheServerEndsIsAnAnswer) {
  for (const Reader& reader : kReaders) {
    SCOPED_TRACE(reader.name);
    EXPECT_TRUE(reader.collect(Whole(), [] { return true; }).has_value());
  }
}

TEST(WholeAnswer, ThatSomebodyEndedByItsNameIsWhatThereIs) {
  for (const Reader& reader : kReaders) {
    SCOPED_TRACE(reader.name);
    EXPECT_TRUE(reader.collect(Cut(), [] { return false; }).has_value());
  }
}

TEST(WholeAnswer, ThatNobodyWaitsForIsWorkedOnNoLonger) {
  for (const Reader& reader : kReaders) {
    SCOPED_TRACE(reader.name);
    StartedChat chat = Cut();
    const auto generation = chat.generation;
    EXPECT_FALSE(reader.collect(std::move(chat), [] { return true; }).has_value());
    EXPECT_TRUE(generation->cancelled());
  }
}

GenerationEvent EventOf(GenerationEvent::Kind kind) {
  GenerationEvent event;
  event.kind = kind;
  return event;
}

TEST(FailureBeforeAnswer, IsTheErrorThatCameFirst) {
  const StartedChat failed = PlayFailure();
  const auto failure = FailureBeforeAnswer(failed.generation.get(), 60'000, [] { return false; });
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->status, 500);
  EXPECT_TRUE(failed.generation->cancelled());
}

TEST(FailureBeforeAnswer, LeavesAnEventThatIsNone) {
  Generation generation;
  generation.Push(EventOf(GenerationEvent::Kind::kProgress));
  generation.Push(EventOf(GenerationEvent::Kind::kFailed));
  EXPECT_FALSE(FailureBeforeAnswer(&generation, 60'000, [] { return false; }).has_value());
  const auto first = generation.Next(std::chrono::milliseconds(0));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->kind, GenerationEvent::Kind::kProgress);
  EXPECT_FALSE(generation.cancelled());
}

TEST(FailureBeforeAnswer, WaitsNoLongerThanItMayAndForNobodyWhoWent) {
  Generation generation;
  EXPECT_FALSE(FailureBeforeAnswer(&generation, 0, [] { return false; }).has_value());
  EXPECT_FALSE(FailureBeforeAnswer(&generation, 1e9, [] { return true; }).has_value());
}

}  // namespace
}  // namespace cairn::answer_reader_test
