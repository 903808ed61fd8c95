// The lines of a start that say which kernels compute, what the model's memory allows, how it is
// used, and how much room the cache has.

#ifndef CAIRN_CMD_SERVE_MODEL_FACTS_H_
#define CAIRN_CMD_SERVE_MODEL_FACTS_H_

#include <string>

#include "base/tokens.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/base/server_log.h"
#include "engine/engine.h"

namespace cairn {

// With --reuse exact: leaves kernels whose bits depend on the batch, and says so. REQUIRES: no
// model is loaded.
void ChooseKernels(const ServerLog& logger, const ServeOptions& options);

// `reuse`: the mode in use, which may differ from the options'.
void LogModelFacts(const ServerLog& logger, const Engine& engine, const ServeOptions& options,
                   const std::string& reuse, const Tokens& message_starts);

// Logs how much memory and disk the cache may take.
void LogCacheBudget(const ServerLog& logger, const ServeOptions& options, const DiskCache& disk);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MODEL_FACTS_H_
