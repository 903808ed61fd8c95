// Share: prefill takes a fixed share of the time.
//
//   share 0.5   | chunk | tokens … | chunk | tokens … | chunk |     as long as there are both
//                 180 ms   180 ms
//
// A prompt of any length slows the answers by at most 1 / (1 - share), and the pause is spread over
// many chunks. The account is in time, not in chunks: how many tokens an answer gets in the time of
// a chunk depends on the model and the machine.

#include <algorithm>

#include "policy/answer_pace.h"

namespace cairn {
namespace {

class SharePace final : public AnswerPace {
 public:
  explicit SharePace(double prefill_share) : owed_per_ms_((1 - prefill_share) / prefill_share) {}

  bool MayPrefill(double /*now_ms*/, double /*chunk_ms*/) const override {
    return !prefilled_ && !owes();
  }
  bool owes() const override { return owed_ms_ > 0; }
  void OnPrefill(double ms) override {
    prefilled_ = true;
    owed_ms_ += ms * owed_per_ms_;
  }
  void OnDecode(double /*now_ms*/, double ms) override {
    prefilled_ = false;
    owed_ms_ = std::max(0.0, owed_ms_ - ms);
  }
  void OnNoAnswers(double /*now_ms*/) override {
    prefilled_ = false;
    owed_ms_ = 0;
  }

 private:
  const double owed_per_ms_;
  double owed_ms_ = 0;
  bool prefilled_ = false;  // since the last step
};

}  // namespace

std::unique_ptr<AnswerPace> MakeSharePace(const AnswerPaceOptions& options) {
  return std::make_unique<SharePace>(options.prefill_share);
}

}  // namespace cairn
