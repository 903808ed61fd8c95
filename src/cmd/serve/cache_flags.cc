#include "cmd/serve/cache_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/memory_watch.h"
#include "policy/eviction.h"

namespace cairn {
namespace {

// Two columns: names, and what they do.
std::string Table(const std::vector<PolicySummary>& policies) {
  std::string table;
  for (const PolicySummary& policy : policies) {
    std::string name(policy.name);
    name.resize(std::max<size_t>(name.size() + 1, 14), ' ');
    table.append("  ").append(name).append(policy.summary).append("\n");
  }
  return table;
}

bool Names(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

void AddPlacementFlags(CLI::App* serve, ServeOptions* options, const std::string& group) {
  serve
      ->add_option("--placement", options->placement,
                   "Where to take checkpoints, see below; several with commas add up")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--checkpoint-every-nb", options->checkpoint_every_nb,
                   "A checkpoint every N batches (of --batch-size), besides --placement (0: none)")
      ->check(CLI::Range(int64_t{-1}, INT64_MAX))
      ->group(group);
  serve
      ->add_option("--checkpoint-every-nt,--checkpoint-every-n-tokens",
                   options->checkpoint_every_nt,
                   "A checkpoint every N tokens, besides --placement (-cpent; -1 or 0: none); "
                   "auto counts with 8192")
      ->check(CLI::Range(int64_t{-1}, INT64_MAX))
      ->group(group);
  serve
      ->add_option("--checkpoint-min-step", options->checkpoint_min_step,
                   "Leave out checkpoints nearer than so many tokens (-cms), but never the last")
      ->capture_default_str()
      ->group(group);
}

void AddDiskFlags(CLI::App* serve, ServeOptions* options, const std::string& group) {
  serve
      ->add_option("--cache-dir", options->cache_folder,
                   "Folder where checkpoints outlive the server; several servers may share it "
                   "(default: cairn in $XDG_CACHE_HOME or in ~/.cache)")
      ->group(group);
  serve
      ->add_option("--cache-disk", options->cache_disk_gib,
                   "GiB of that folder, of all models together (0: nothing is kept on disk)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--disk-write-mib-s", options->disk_write_mib_s,
                   "MiB a second to write at most, to spare the disk (0: no limit)")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--save-after-ms", options->save_after_ms,
                   "Milliseconds that a slot is unused before what it holds is saved")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--codec", options->codec,
                   "How files are written: raw, or lossless (smaller, the same to the bit)")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--shutdown-timeout", options->shutdown_timeout_s,
                   "Seconds that saving may take when the server ends")
      ->check(CLI::Range(int64_t{0}, int64_t{3600}))
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--slot-save-path", options->slot_save_path,
                   "Folder of the files that POST /slots/ID?action=save and restore name: a "
                   "conversation with its checkpoints in each")
      ->check(CLI::ExistingDirectory)
      ->group(group);
}

}  // namespace

void AddCacheFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Cache";
  AddPlacementFlags(serve, options, group);
  serve
      ->add_option("--eviction", options->eviction,
                   "Which checkpoint to give up when the cache is full, see below")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--cache-ram", options->cache_ram_mib,
                   "MiB of RAM for checkpoints (-cram; default: a quarter of the machine's; "
                   "-1: no limit, 0: no cache)")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
      ->group(group);
  serve
      ->add_option("--ctx-checkpoints,--swa-checkpoints", options->ctx_checkpoints,
                   "At most N checkpoints on one conversation's path (-ctxcp; default: as many as "
                   "fit; 0: no cache)")
      ->group(group);
  serve
      ->add_option("--reuse", options->reuse,
                   "What reuse may change. live: nothing an uninterrupted conversation would not "
                   "have; exact: no bit of a cold run's; any: cut anywhere")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_option("--cache-reuse", options->cache_reuse,
                   "Chunks of N tokens or more that a slot holds at another place than the prompt "
                   "are moved there, which is not what reading them would give; attention models "
                   "only, not with --reuse exact (0: none)")
      ->capture_default_str()
      ->group(group);
  serve
      ->add_flag("--cache-idle-slots,!--no-cache-idle-slots", options->cache_idle_slots,
                 "Store and empty idle slots that slow the others down (on)")
      ->group(group);
  serve
      ->add_option(
          "--grid", options->llama.grid_tokens,
          "Tokens between cuts that leave every bit unchanged (0: measured once and kept in the "
          "cache folder)")
      ->group(group);
  AddDiskFlags(serve, options, group);
}

std::string PolicyHelp() {
  return "Where to take checkpoints (--placement):\n" + Table(PlacementSummaries()) +
         "\nWhich to give up (--eviction):\n" + Table(EvictionSummaries());
}

std::string PlacementNames(const ServeOptions& options) {
  std::string names = options.placement;
  if (options.checkpoint_every_nb.value_or(0) > 0 && !Names(names, "every-nb")) {
    names += ",every-nb";
  }
  if (options.checkpoint_every_nt.value_or(0) > 0 && !Names(names, "every-nt")) {
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
