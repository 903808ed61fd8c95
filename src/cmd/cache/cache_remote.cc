// cairn cache ls, verify, prune and reindex of a remote store.

#include <cstdio>
#include <map>

#include "base/json.h"
#include "cmd/cache/cache_commands.h"
#include "cmd/lib/progress_line.h"
#include "cmd/serve/remote/remote_flags.h"
#include "fleet/remote/remote_tools.h"

namespace cairn {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;

// By the model's fingerprint and the namespace: that much is in the names.
Result<int> ListRemote(const CacheRun& run, const RemoteTools& tools) {
  const auto found = tools.List();
  if (!found) return tl::unexpected(found.error());
  std::map<std::pair<std::string, std::string>, ObjectTotal> totals;
  ObjectTotal all;
  for (const RemoteFound& one : *found) {
    const std::string& model = one.parsed.fingerprint;
    if (!run.options.model.empty() && !model.starts_with(run.options.model)) continue;
    for (ObjectTotal* const total : {&totals[{model, one.parsed.name_space}], &all}) {
      ++total->objects;
      total->bytes += one.bytes;
    }
  }
  if (run.options.json) {
    Json json = {{"objects", all.objects}, {"bytes", all.bytes}, {"groups", Json::array()}};
    for (const auto& [group, total] : totals) {
      json["groups"].push_back({{"model", group.first},
                                {"namespace", group.second},
                                {"objects", total.objects},
                                {"bytes", total.bytes}});
    }
    PrintJson(json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"MODEL", "NAMESPACE", "OBJECTS", "BYTES"}};
  for (const auto& [group, total] : totals) {
    rows.push_back({ShortText(group.first), group.second, std::to_string(total.objects),
                    BytesText(total.bytes)});
  }
  if (rows.size() > 1) std::printf("%s", TableText(rows).c_str());
  std::printf("%s, %s\n", CountText(all.objects, "object").c_str(), BytesText(all.bytes).c_str());
  return 0;
}

struct Verdict {
  uint64_t good = 0;
  uint64_t bytes = 0;
  uint64_t newer = 0;
  std::vector<std::pair<RemoteFound, std::string>> bad = {};
};

Result<Verdict> VerifyAll(const RemoteTools& tools) {
  const auto found = tools.List();
  if (!found) return tl::unexpected(found.error());
  Verdict verdict;
  ProgressLine line("Reading the remote store");
  for (size_t i = 0; i < found->size(); ++i) {
    const RemoteFound& one = (*found)[i];
    line.Update(static_cast<float>(i) / static_cast<float>(found->size()));
    const Status good = tools.Verify(one);
    verdict.bytes += one.bytes;
    if (good) {
      ++verdict.good;
    } else if (good.error().code == ErrorCode::kUnsupported) {
      ++verdict.newer;
    } else if (good.error().code == ErrorCode::kCorrupt) {
      verdict.bad.emplace_back(one, good.error().message);
    } else if (good.error().code != ErrorCode::kNotFound) {
      return tl::unexpected(good.error());
    }
  }
  return verdict;
}

Result<int> VerifyRemote(const CacheRun& run, const RemoteTools& tools) {
  const auto verdict = VerifyAll(tools);
  if (!verdict) return tl::unexpected(verdict.error());
  const int code = verdict->bad.empty() ? 0 : 1;
  if (run.options.json) {
    Json json = {{"good", verdict->good},
                 {"read_bytes", verdict->bytes},
                 {"newer_format", verdict->newer},
                 {"bad", Json::array()}};
    for (const auto& [one, why] : verdict->bad) {
      json["bad"].push_back({{"object", one.path}, {"bytes", one.bytes}, {"why", why}});
    }
    PrintJson(json);
    return code;
  }
  for (const auto& [one, why] : verdict->bad) {
    std::printf("bad: %s: %s\n", one.path.c_str(), why.c_str());
  }
  std::printf("%s good, %s read; %zu bad, %s of a newer format\n",
              CountText(verdict->good, "object").c_str(), BytesText(verdict->bytes).c_str(),
              verdict->bad.size(), std::to_string(verdict->newer).c_str());
  return code;
}

Result<int> PruneRemote(const CacheRun& run, const RemoteTools& tools) {
  const CacheCommandOptions& options = run.options;
  if (!options.bad || options.to_gib >= 0 || options.older_than_days >= 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "of a remote store, prune removes --bad objects only; old ones are removed by the "
                "bucket's lifecycle rules, and by a Valkey after --remote-ttl-h");
  }
  const auto verdict = VerifyAll(tools);
  if (!verdict) return tl::unexpected(verdict.error());
  uint64_t bytes = 0;
  for (const auto& [one, why] : verdict->bad) {
    if (!options.dry_run) {
      if (Status removed = tools.Remove(one); !removed) return tl::unexpected(removed.error());
    }
    bytes += one.bytes;
  }
  if (options.json) {
    PrintJson({{"removed", verdict->bad.size()}, {"bytes", bytes}, {"dry_run", options.dry_run}});
    return 0;
  }
  std::printf("%s %s, %s\n", options.dry_run ? "would remove" : "removed",
              CountText(verdict->bad.size(), "object").c_str(), BytesText(bytes).c_str());
  return 0;
}

Result<int> ReindexRemote(const CacheRun& run, const RemoteTools& tools) {
  ProgressLine line("Reading the remote store");
  const auto done =
      tools.Reindex(static_cast<int64_t>(run.options.remote.ttl_h * 3600), run.now_ns / kNsPerS,
                    [&line](float share) { line.Update(share); });
  if (!done) return tl::unexpected(done.error());
  if (run.options.json) {
    PrintJson({{"listed", done->listed}, {"unreadable", done->unreadable}});
    return 0;
  }
  std::printf("%s listed, %zu unreadable\n", CountText(done->listed, "object").c_str(),
              done->unreadable);
  return 0;
}

}  // namespace

Result<int> RunRemoteCache(const CacheRun& run, const RemoteStores& stores) {
  const RemoteTools tools(stores.objects.get(), stores.index.get(), &stores.keys);
  switch (run.options.command) {
    case CacheCommand::kList:
      return ListRemote(run, tools);
    case CacheCommand::kVerify:
      return VerifyRemote(run, tools);
    case CacheCommand::kPrune:
      return PruneRemote(run, tools);
    case CacheCommand::kReindex:
      return ReindexRemote(run, tools);
    default:
      return Fail(ErrorCode::kInvalidArgument, "this command knows no remote store");
  }
}

}  // namespace cairn
