// Answer: what a client was told, in whatever API and however it came, in one form that can be
// compared. Ids, times and what was reused are left out: they may differ.
//
// Values and pure functions; any thread.

#ifndef CAIRN_TESTS_SOAK_ANSWER_H_
#define CAIRN_TESTS_SOAK_ANSWER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "lab/client/sse.h"

namespace cairn::soak {

enum class Api : uint8_t { kChat, kText, kNative, kMessages, kResponses };
inline constexpr Api kApis[] = {Api::kChat, Api::kText, Api::kNative, Api::kMessages,
                                Api::kResponses};

std::string PathOf(Api api);

struct Choice {
  std::string text = {};
  std::string reasoning = {};
  std::string calls = {};   // names and arguments of tool calls, one behind the other
  std::string finish = {};  // in the API's own word; empty: it has not ended
  // One entry a token: as the API has it, every digit.
  std::vector<Json> logprobs = {};

  friend bool operator==(const Choice&, const Choice&) = default;
};

struct Answer {
  std::vector<Choice> choices;
  bool ended = false;   // all of it came
  std::string id;       // by which it can be cancelled
  std::string failure;  // what a stream said in place of its end
  size_t cached_tokens = 0;
  size_t prompt_tokens = 0;  // cached ones included; 0: not told
  size_t answer_tokens = 0;
};

// Of the body of a whole answer. Nothing: it is none of this API.
std::optional<Answer> ParseWhole(Api api, const std::string& body);

// Reads a streamed answer as it comes. One thread.
class AnswerStream {
 public:
  explicit AnswerStream(Api api) : api_(api) {}

  void Feed(std::string_view bytes);

  const Answer& answer() const { return answer_; }
  size_t events() const { return events_; }
  // What was wrong with the stream itself; empty: nothing.
  const std::string& complaint() const { return complaint_; }

 private:
  void Take(const SseEvent& event);
  void TakeChoices(const Json& event);
  void TakeNative(const Json& event);
  void TakeMessages(const Json& event);
  void TakeResponses(const Json& event);
  Choice& ChoiceAt(size_t index);

  const Api api_;
  SseParser parser_;
  Answer answer_;
  size_t events_ = 0;
  std::string complaint_;
};

// What is wrong with `got`, where `right` is the whole right answer; empty: nothing. Of an answer
// that did not come whole, what came must be a beginning of the right one.
std::string Compare(const Answer& got, const Answer& right);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_ANSWER_H_
