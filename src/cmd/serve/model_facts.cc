#include "cmd/serve/model_facts.h"

#include "base/text.h"
#include "cmd/serve/base/cache_flags.h"
#include "engine/embed/embedding_architectures.h"
#include "engine/llama/backend/computing_libraries.h"

namespace cairn {
namespace {

// Where `exact` was asked for: says if the kernels do not keep bits in every case.
void WarnOfAmx(const ServerLog& logger, const ServeOptions& options) {
  constexpr const char* kAmx = "libggml-cpu-sapphirerapids";
  if (options.reuse != "exact" || ComputingLibraries().find(kAmx) == std::string::npos) return;
  logger->warn(
      "{} computes with AMX, whose sums depend on the batch and on where the cache has a token: "
      "--reuse exact may differ in the last digits; docs/troubleshooting.md says how to do without",
      kAmx);
}

}  // namespace

void LogModelFacts(const ServerLog& logger, const Engine& engine, const ServeOptions& options,
                   const std::string& reuse, const Tokens& message_starts) {
  const MemoryTraits& traits = engine.traits();
  if (IsEncoder(engine.info().architecture)) {
    logger->info("{}, {} of texts of up to {} tokens; it writes no answers",
                 engine.info().description, options.embeddings ? "vectors" : "scores",
                 engine.context_tokens());
    return;
  }
  if (!traits.shifts && (options.cache_reuse > 0 || options.context_shift)) {
    logger->warn(
        "this model's memory cannot be moved: --cache-reuse and --context-shift have no effect");
  }
  logger->info("{}, {} memory, {} KiB per snapshot, {} bytes of KV per token",
               engine.info().description, MemoryClassName(traits.memory_class),
               (traits.snapshot_bytes + 1023) / 1024, traits.kv_bytes_per_token);
  logger->info("{} slots of up to {} tokens, {} in total{}", engine.slots(),
               engine.context_tokens(), engine.cells(),
               traits.one_buffer ? "" : ", a KV stream for each");
  const bool trusted = !traits.grid_measured && options.reuse == "exact";
  logger->log(trusted ? spdlog::level::warn : spdlog::level::info,
              "exactness grid {} tokens ({}), placement {}, eviction {}, reuse {}",
              traits.grid_tokens, traits.grid_measured ? "measured" : "assumed, not measured",
              PlacementNames(options), options.eviction, reuse);
  WarnOfAmx(logger, options);
  if (message_starts.empty()) return;
  std::string texts;
  for (const Token token : message_starts) texts += " " + engine.Piece(token, true);
  logger->info("prompts are cut at the beginning of each message, behind{}", texts);
}

void LogCacheBudget(const ServerLog& logger, const ServeOptions& options, const DiskCache& disk) {
  if (!StoresCheckpoints(options)) {
    logger->info("no prefix cache: --cache-ram or --ctx-checkpoints is 0");
    return;
  }
  const size_t ram_bytes = CacheRamBytes(options);
  std::string line =
      "prefix cache: " + (ram_bytes == SIZE_MAX ? std::string("memory without a limit")
                                                : GibText(ram_bytes) + " GiB of memory");
  if (disk.store != nullptr) {
    line +=
        ", " + GibText(disk.store->stats().bytes_max) + " GiB of disk in " + CacheFolderOf(options);
  }
  logger->info("{}", line);
}

}  // namespace cairn
