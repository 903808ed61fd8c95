// The flags of `cairn serve` for speculative decoding.

#ifndef CAIRN_CMD_SERVE_DRAFT_FLAGS_H_
#define CAIRN_CMD_SERVE_DRAFT_FLAGS_H_

#include <cstddef>

#include "base/provenance.h"
#include "base/result.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/served_draft.h"
#include "engine/engine.h"
#include "sched/draft/drafter.h"

namespace CLI {
class App;
}

namespace cairn {

void AddDraftFlags(CLI::App* serve, ServeOptions* options);

// Returns LlamaOptions::rollback_states for the flags.
size_t RollbackStatesOf(const ServeOptions& options);
// Returns LlamaOptions::mtp for the flags.
LlamaOptions::Mtp MtpOf(const ServeOptions& options);

// kInvalidArgument if the flags do not fit one another.
Status CheckDraftFlags(const ServeOptions& options);

// Returns the options of the flags. `draft_model` must outlive the scheduler. With
// ReuseMode::kExact the engine is probed: kUnsupported if drafts would change bits, except with
// --spec-type auto, which then means none. REQUIRES: the model is loaded, and no other thread uses
// the engine.
Result<DraftOptions> MakeDraftOptions(const ServeOptions& options, ReuseMode reuse, Engine* engine,
                                      const ServedDraft& draft_model);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DRAFT_FLAGS_H_
