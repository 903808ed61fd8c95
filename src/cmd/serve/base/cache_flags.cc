#include "cmd/serve/base/cache_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/memory_watch.h"
#include "policy/answer_pace.h"
#include "policy/eviction.h"

namespace cairn {
namespace {

// Returns two columns: names and summaries.
std::string Table(const std::vector<PolicySummary>& policies) {
  std::string table;
  for (const PolicySummary& policy : policies) {
    std::string name(policy.name);
    name.resize(std::max<size_t>(name.size() + 1, 14), ' ');
    table.append("  ").append(name).append(policy.summary).append("\n");
  }
  return table;
}

bool ListNames(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

void AddPlacementFlags(CLI::App* serve, ServeOptions* options, const std::string& group) {
  serve
      ->add_option(
          "--placement", options->placement,
          "Placement policy of checkpoints, see below; several may be combined with commas")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option(
          "--checkpoint-every-nb", options->checkpoint_every_nb,
          "Take a checkpoint every N batches (of --batch-size) in addition to --placement (0: off)")
      ->check(CLI::Range(int64_t{-1}, INT64_MAX))
      ->group(group);
  serve
      ->add_option("--checkpoint-every-nt,--checkpoint-every-n-tokens",
                   options->checkpoint_every_nt,
                   "Take a checkpoint every N tokens in addition to --placement (-cpent; -1 or 0: "
                   "off); auto assumes 8192")
      ->check(CLI::Range(int64_t{-1}, INT64_MAX))
      ->group(group);
  serve
      ->add_option(
          "--checkpoint-min-step", options->checkpoint_min_step,
          "Minimum distance between checkpoints in tokens (-cms); the last one is always taken")
      ->capture_default_str()
      ->group(group);
}

void AddDiskFlags(CLI::App* serve, ServeOptions* options, const std::string& group) {
  serve
      ->add_option("--cache-dir", options->cache_folder,
                   "Folder of the disk tier, which survives restarts; several servers may share it "
                   "(default: cairn in $XDG_CACHE_HOME or in ~/.cache)")
      ->group(group);
  serve
      ->add_option(
          "--cache-disk", options->cache_disk_gib,
          "Disk budget of --cache-dir in GiB, for all models together (default: a tenth of "
          "what is free there, or 32 if that leaves a fifth of the device free, less while "
          "other files fill the device; 0: no disk tier)")
      ->check(CLI::Range(0.0, 1e6))
      ->group(group);
  serve
      ->add_option("--disk-write-mib-s", options->disk_write_mib_s,
                   "Maximum disk write rate in MiB per second (0: no limit)")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option(
          "--disk-write-gib-day", options->disk_write_gib_day,
          "Maximum GiB to write to --cache-dir in 24 hours, which spares flash memory; after "
          "that nothing is saved until part of them is a day old (0: no limit)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--cache-key-file", options->cache_key_file,
                   "File with the key that encrypts all that is written to --cache-dir and "
                   "--slot-save-path: a line of 32 characters or more, as `openssl rand -hex 32` "
                   "makes; a second line may hold the previous key")
      ->group(group);
  serve
      ->add_option("--save-after-ms", options->save_after_ms,
                   "Save a slot's content after it was idle for this many milliseconds")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--codec", options->codec,
                   "Encoding of cache files: raw, or lossless (smaller, bit-identical)")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option(
          "--shutdown-timeout", options->shutdown_timeout_s,
          "Maximum seconds that a shutdown takes: on SIGTERM running answers may go on for "
          "two thirds of them, and the rest is for saving")
      ->check(CLI::Range(int64_t{0}, int64_t{3600}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option(
          "--drain-delay", options->drain_delay_s,
          "Seconds for which a server that drains (SIGTERM, POST /cairn/drain) still takes "
          "requests, while /health is 503 already: the time that a load balancer needs to "
          "notice. Counts towards --shutdown-timeout")
      ->check(CLI::Range(int64_t{0}, int64_t{3600}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--slot-save-path", options->slot_save_path,
                   "Folder for the files of POST /slots/ID?action=save and restore; each holds one "
                   "conversation with its checkpoints")
      ->check(CLI::ExistingDirectory)
      ->group(group);
}

}  // namespace

void AddCacheFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Cache";
  AddPlacementFlags(serve, options, group);
  serve
      ->add_option("--eviction", options->eviction,
                   "Eviction policy when the cache is full, see below")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option(
          "--cache-ram", options->cache_ram_mib,
          "Memory budget of the cache in MiB (-cram; default: a quarter of the machine's "
          "memory, but at most half of what the loaded model leaves free; -1: no limit, 0: "
          "no cache)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->group(group);
  serve
      ->add_option(
          "--ctx-checkpoints,--swa-checkpoints", options->ctx_checkpoints,
          "Maximum number of checkpoints per conversation (-ctxcp; default: no limit; 0: no cache)")
      ->group(group);
  serve
      ->add_option("--reuse", options->reuse,
                   "How exact reuse is. live: as in an uninterrupted conversation; exact: "
                   "bit-identical to a cold run; any: cut anywhere")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--cache-reuse", options->cache_reuse,
                   "Move chunks of at least N tokens that a slot holds at other positions than the "
                   "prompt. The result differs from a fresh prefill; attention models only, not "
                   "with --reuse exact (0: off)")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_flag("--cache-idle-slots,!--no-cache-idle-slots", options->cache_idle_slots,
                 "Offload idle slots that slow other slots down (on)")
      ->group(group);
  serve
      ->add_option("--grid", options->llama.grid_tokens,
                   "Chunk alignment in tokens that keeps logits bit-identical (0: measure it once "
                   "and keep it in the cache folder)")
      ->group(group);
  serve
      ->add_flag("--cut-at-messages,!--no-cut-at-messages", options->cut_at_messages,
                 "End a chunk of the prompt at each message, so that prefill resumes there and not "
                 "at the grid point before; off: on the grid alone (on)")
      ->group(group);
  AddDiskFlags(serve, options, group);
}

std::string PolicyHelp() {
  return "Placement policies (--placement), where to take checkpoints:\n" +
         Table(PlacementSummaries()) + "\nEviction policies (--eviction), what to evict first:\n" +
         Table(EvictionSummaries()) +
         "\nAnswer paces (--answer-pace), when running answers get their next tokens:\n" +
         Table(AnswerPaceSummaries());
}

std::string PlacementNames(const ServeOptions& options) {
  std::string names = options.placement;
  if (options.checkpoint_every_nb.value_or(0) > 0 && !ListNames(names, "every-nb")) {
    names += ",every-nb";
  }
  if (options.checkpoint_every_nt.value_or(0) > 0 && !ListNames(names, "every-nt")) {
    names += ",every-nt";
  }
  return names;
}

PlacementOptions ToPlacementOptions(const ServeOptions& options) {
  PlacementOptions placement;
  placement.batch_tokens = options.llama.batch_tokens;
  if (const auto batches = options.checkpoint_every_nb) {
    placement.every_nb_batches = static_cast<size_t>(std::max<int64_t>(*batches, 0));
  }
  if (const auto tokens = options.checkpoint_every_nt) {
    placement.every_nt_tokens = static_cast<size_t>(std::max<int64_t>(*tokens, 0));
  }
  return placement;
}

bool StoresCheckpoints(const ServeOptions& options) {
  return options.cache_ram_mib != 0 && options.ctx_checkpoints != 0u;
}

uint64_t FittingCacheBytes(const MemoryRoom& room, uint64_t mapped_bytes) {
  // Pages of mapped weights count as left, and yet are needed for every token.
  const uint64_t left_bytes = room.left_bytes - std::min(room.left_bytes, mapped_bytes);
  return std::max(std::min(room.limit_bytes / 4, left_bytes / 2), room.limit_bytes / 32);
}

void FitCacheToMemory(ServeOptions* options) {
  if (options->cache_ram_mib) return;
  const MemorySources sources = SystemMemorySources();
  const uint64_t bytes =
      FittingCacheBytes(MakeMemoryWatch(sources)->Look(), MappedFileBytes(sources));
  options->cache_ram_mib = static_cast<int64_t>(std::max<uint64_t>(bytes >> 20, 1));
}

size_t CacheRamBytes(const ServeOptions& options) {
  if (!options.cache_ram_mib) {
    return MakeMemoryWatch(SystemMemorySources())->Look().limit_bytes / 4;
  }
  if (*options.cache_ram_mib < 0) return SIZE_MAX;
  return static_cast<size_t>(*options.cache_ram_mib) << 20;
}

CacheOptions ToCacheOptions(const ServeOptions& options) {
  CacheOptions cache;
  cache.ram_bytes_max = CacheRamBytes(options);
  cache.min_step_tokens = options.checkpoint_min_step;
  cache.path_checkpoints_max = options.ctx_checkpoints.value_or(0);
  return cache;
}

}  // namespace cairn
