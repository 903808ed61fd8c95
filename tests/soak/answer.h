// Answer: a server's answer from any API, streamed or not, in one form that can be compared. It
// leaves out ids, times and reuse, which may differ.
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
  std::string calls = {};   // names and arguments of tool calls, concatenated
  std::string finish = {};  // the API's finish reason; empty: it has not ended
  // One entry per token, as the API has it, every digit.
  std::vector<Json> logprobs = {};

  friend bool operator==(const Choice&, const Choice&) = default;
};

struct Answer {
  std::vector<Choice> choices;
  bool ended = false;   // it is complete
  std::string id;       // with which it can be cancelled
  std::string failure;  // the error of a stream that ended with one
  size_t cached_tokens = 0;
  size_t prompt_tokens = 0;  // cached ones included; 0: not reported
  size_t answer_tokens = 0;
};

// Parses the body of a complete answer. Returns nullopt if it is not one of this API.
std::optional<Answer> ParseWhole(Api api, const std::string& body);

// Parses a streamed answer as it comes. One thread.
class AnswerStream {
 public:
  explicit AnswerStream(Api api) : api_(api) {}

  void Feed(std::string_view bytes);

  const Answer& answer() const { return answer_; }
  size_t events() const { return events_; }
  // Returns an error in the stream's format; empty: none.
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

// Returns how `got` differs from `right`, the complete right answer; empty: it does not. An
// incomplete `got` must be a prefix of `right`.
std::string Compare(const Answer& got, const Answer& right);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_ANSWER_H_
