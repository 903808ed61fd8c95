// None: keeps no account. Chunks and steps of the answers take turns.

#include "policy/answer_pace.h"

namespace cairn {
namespace {

class NonePace final : public AnswerPace {
 public:
  bool MayPrefill(double /*now_ms*/, double /*chunk_ms*/) const override { return !prefilled_; }
  bool owes() const override { return false; }
  void OnPrefill(double /*ms*/) override { prefilled_ = true; }
  void OnDecode(double /*now_ms*/, double /*ms*/) override { prefilled_ = false; }
  void OnNoAnswers(double /*now_ms*/) override { prefilled_ = false; }

 private:
  bool prefilled_ = false;  // since the last step
};

}  // namespace

std::unique_ptr<AnswerPace> MakeNonePace(const AnswerPaceOptions& /*options*/) {
  return std::make_unique<NonePace>();
}

}  // namespace cairn
