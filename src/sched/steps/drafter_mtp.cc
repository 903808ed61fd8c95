// Drafts with the model's own heads for multi-token prediction. The engine keeps what they know in
// step with its sequences, so there is nothing to follow here.

#include <memory>

#include "engine/mtp_heads.h"
#include "sched/steps/speculation.h"

namespace cairn {
namespace {

class MtpDrafter final : public Drafter {
 public:
  MtpDrafter(SchedulerContext* context, MtpSpeed* speed) : context_(context), speed_(speed) {}

  Draft Propose(const DraftPoint& at, const DraftLength& length_of) override {
    Draft draft{{}, DraftSource::kMtp};
    Engine* const engine = context_->engine;
    MtpHeads* const heads = engine->mtp_heads();
    const size_t room = engine->context_tokens();
    if (heads == nullptr || at.text.size() + 2 >= room) return draft;
    const size_t length = length_of(DraftSource::kMtp, room - at.text.size() - 2);
    if (length == 0) return draft;
    const double begin_ms = context_->NowMs();
    draft.tokens = heads->Draft(at.seq, at.next, length, context_->options.drafts.mtp_p_min);
    speed_->OnDrafted(draft.tokens.size(), context_->NowMs() - begin_ms);
    return draft;
  }

 private:
  SchedulerContext* const context_;
  MtpSpeed* const speed_;
};

}  // namespace

std::unique_ptr<Drafter> MakeMtpDrafter(SchedulerContext* context, MtpSpeed* speed) {
  return std::make_unique<MtpDrafter>(context, speed);
}

}  // namespace cairn
