// For the tests of the APIs: answers that were written down before.

#ifndef CAIRN_TESTING_API_PLAYED_ANSWER_H_
#define CAIRN_TESTING_API_PLAYED_ANSWER_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/service/chat_service.h"
#include "chat/parse/answer_parser.h"
#include "sched/answer/generation.h"

namespace cairn {

// Gives out pieces that were written down before.
class PlayedParser final : public AnswerParser {
 public:
  explicit PlayedParser(std::vector<AnswerDelta> pieces) : pieces_(std::move(pieces)) {}

  std::vector<AnswerDelta> Push(std::string_view) override { return {}; }
  std::vector<AnswerDelta> Finish() override { return std::move(pieces_); }

 private:
  std::vector<AnswerDelta> pieces_;
};

// An answer that has ended already: 1,000 tokens of prompt, 900 of them reused, 25 generated.
inline StartedChat Play(std::vector<AnswerDelta> pieces, FinishReason reason = FinishReason::kStop,
                        const std::string& stop_text = "") {
  auto generation = std::make_shared<Generation>();
  GenerationEvent done;
  done.kind = GenerationEvent::Kind::kDone;
  done.reason = reason;
  done.stop_text = stop_text;
  done.cost.prompt_tokens = 1000;
  done.cost.reused_tokens = 900;
  done.cost.generated_tokens = 25;
  generation->Push(done);
  return {generation, std::make_unique<PlayedParser>(std::move(pieces))};
}

inline StartedChat PlayFailure() {
  auto generation = std::make_shared<Generation>();
  GenerationEvent failed;
  failed.kind = GenerationEvent::Kind::kFailed;
  failed.error = {ErrorCode::kInternal, "it broke"};
  generation->Push(failed);
  return {generation, std::make_unique<PlayedParser>(std::vector<AnswerDelta>())};
}

inline std::vector<AnswerDelta> ThoughtTextAndTwoCalls() {
  using Kind = AnswerDelta::Kind;
  return {{Kind::kReasoning, "Let me ", 0},        {Kind::kReasoning, "see.", 0},
          {Kind::kContent, "I look ", 0},          {Kind::kContent, "\xE2\x82\xAC up.", 0},
          {Kind::kCallBegin, "weather", 0},        {Kind::kCallArguments, R"({"city":)", 0},
          {Kind::kCallArguments, R"("Rome"})", 0}, {Kind::kCallBegin, "clock", 1},
          {Kind::kCallArguments, "{}", 1}};
}

}  // namespace cairn

#endif  // CAIRN_TESTING_API_PLAYED_ANSWER_H_
