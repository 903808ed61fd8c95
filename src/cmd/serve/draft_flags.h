// The flags of `cairn serve` for speculative decoding.

#ifndef CAIRN_CMD_SERVE_DRAFT_FLAGS_H_
#define CAIRN_CMD_SERVE_DRAFT_FLAGS_H_

#include "base/provenance.h"
#include "base/result.h"
#include "cmd/serve/serve.h"
#include "engine/engine.h"
#include "sched/draft/draft_options.h"

namespace cairn {

void AddDraftFlags(CLI::App* serve, ServeOptions* options);

// Returns the options of the flags. With ReuseMode::kExact the engine is probed: kUnsupported if
// drafts would change bits. REQUIRES: the model is loaded, and no other thread uses the engine.
Result<DraftOptions> MakeDraftOptions(const ServeOptions& options, ReuseMode reuse, Engine* engine);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_DRAFT_FLAGS_H_
