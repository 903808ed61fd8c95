#include "api/answer/prompt_batch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {

PromptBatch::PromptBatch(const ChatService* service, std::vector<GenerationRequest> requests)
    : service_(service), answers_(requests.at(0).answers), requests_(std::move(requests)) {}

ApiResult<std::shared_ptr<Generation>> PromptBatch::Begin() {
  for (size_t i = 0; i < requests_.size(); ++i) {
    const size_t tokens = requests_[i].prompt.size();
    const auto fits = service_->limits().CheckTokens(TextUse::kPrompt, tokens);
    if (fits) continue;
    ApiError error = fits.error();
    error.message = "prompt[" + std::to_string(i) + "]: " + error.message;
    return tl::unexpected(error);
  }
  if (const AdapterSets* const sets = service_->engine().adapter_sets()) {
    auto held = sets->Hold(AdapterSetOf(requests_.front().name_space));
    if (!held) return tl::unexpected(ToApiError(held.error()));
    adapters_held_ = *std::move(held);
  }
  if (auto submitted = SubmitMore(); !submitted) {
    whole_->Cancel();
    return tl::unexpected(submitted.error());
  }
  return whole_;
}

ApiResult<void> PromptBatch::SubmitMore() {
  const size_t at_once = std::max(service_->engine().slots(), answers_);
  while (submitted_ < requests_.size() && running() + answers_ <= at_once) {
    // Submit may refuse it now and take it later.
    GenerationRequest request = requests_[submitted_];
    request.part_of = whole_;
    request.first_answer = submitted_ * answers_;
    const auto submitted = service_->Submit(std::move(request));
    if (!submitted) {
      constexpr int kUnavailableStatus = 503;
      if (submitted.error().status == kUnavailableStatus && running() > 0) return {};
      return tl::unexpected(submitted.error());
    }
    requests_[submitted_] = {};
    ++submitted_;
  }
  return {};
}

void PromptBatch::See(const GenerationEvent& event) {
  if (event.kind != GenerationEvent::Kind::kDone) return;
  // The ends of answers that were never submitted come from EndUnsubmitted.
  if (event.answer >= submitted_ * answers_) return;
  ++ended_;
  if (submitted_ == requests_.size()) return;
  if (whole_->cancelled()) return EndUnsubmitted();
  if (const auto more = SubmitMore(); !more) {
    whole_->Fail({ErrorCode::kUnavailable, more.error().message});
  }
}

void PromptBatch::EndUnsubmitted() {
  for (size_t answer = submitted_ * answers_; answer < requests_.size() * answers_; ++answer) {
    GenerationEvent done;
    done.kind = GenerationEvent::Kind::kDone;
    done.answer = answer;
    done.reason = FinishReason::kCancelled;
    whole_->Push(std::move(done));
  }
  requests_.resize(submitted_);
}

}  // namespace cairn
