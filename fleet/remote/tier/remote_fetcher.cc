#include "fleet/remote/tier/remote_fetcher.h"

#include <algorithm>
#include <utility>

#include "base/process/threads.h"
#include "fleet/remote/seal.h"
#include "store/disk/disk_files.h"
#include "store/folder/object_folder.h"

namespace cairn {
namespace {

constexpr double kFindMsMax = 1000;
constexpr double kRemoveMsMax = 1000;
// A fetch may take as long as the prefill that it saves, within these limits.
constexpr double kFetchMsMin = 1000;
constexpr double kFetchMsMax = 60'000;
constexpr double kAdoptMsMax = 5000;
// An object may be larger than its entry says: a server with another codec may have written it.
constexpr uint64_t kSizeSlack = 2;
// How long a prompt that was not found, or an object of no use, is not asked for again.
constexpr double kMissedMs = 2000;
constexpr double kUselessMs = 60'000;
constexpr size_t kRememberedMax = 4096;
constexpr double kLogEveryMs = 60'000;

template <typename Map>
void Remember(Map* map, const typename Map::key_type& key, double until_ms) {
  if (map->size() >= kRememberedMax) map->clear();
  (*map)[key] = until_ms;
}

// Calls a store. What it throws, where memory is short for example, is an error like any other.
template <typename T, typename Call>
Result<T> TryCall(const Call& call) {
  Result<T> result = Fail(ErrorCode::kUnavailable, "memory is short");
  const Status tried = TryWork([&] { result = call(); });
  if (!tried) return tl::unexpected(tried.error());
  return result;
}

}  // namespace

std::vector<RemoteNames> RemoteFetcher::NamesOf(const RemoteAsk& ask) const {
  std::vector<RemoteNames> names;
  for (const RemoteKey& key : options_->keys.keys()) {
    names.emplace_back(key, options_->fingerprint, ask.name_space);
  }
  return names;
}

RemotePlan RemoteFetcher::Find(const RemoteAsk& ask) {
  const std::vector<RemoteNames> names = NamesOf(ask);
  std::vector<std::string> keys;
  for (const RemoteNames& of_key : names) {
    for (const BlockHash& block : of_key.Blocks(ask.tokens)) {
      keys.push_back(of_key.IndexKeyOf(block));
    }
  }
  if (keys.empty()) return {};
  const double begin_ms = options_->clock->NowMs();
  {
    const MutexLock lock(mutex_);
    const auto missed = missed_until_ms_.find(keys.back());
    if (missed != missed_until_ms_.end() && begin_ms < missed->second) return {};
  }
  if (!index_breaker_->Allows()) return {};
  ++lookups_;
  using Found = std::vector<std::vector<RemoteEntry>>;
  const auto found =
      TryCall<Found>([&] { return options_->index->Find(keys, DeadlineIn(kFindMsMax)); });
  index_breaker_->Note(found ? Status{} : Status(tl::unexpected(found.error())));
  if (!found || found->size() != keys.size()) return {};
  pace_.AddRoundTrip(options_->clock->NowMs() - begin_ms);
  RemotePlanner planner(&ask, options_->fingerprint, &names);
  const size_t blocks = keys.size() / names.size();
  for (size_t i = 0; i < keys.size(); ++i) {
    planner.Add(i / blocks, i % blocks, keys[i], (*found)[i]);
  }
  RemotePlan plan =
      planner.Choose(pace(), [this](const RemoteItem& item) { return PlaceOf(item); });
  if (!plan.items.empty()) {
    ++hits_;
  } else {
    const MutexLock lock(mutex_);
    Remember(&missed_until_ms_, keys.back(), options_->clock->NowMs() + kMissedMs);
  }
  return plan;
}

RemotePlanner::Place RemoteFetcher::PlaceOf(const RemoteItem& item) {
  {
    const MutexLock lock(mutex_);
    const auto useless = useless_until_ms_.find(item.entry.id);
    if (useless != useless_until_ms_.end() && options_->clock->NowMs() < useless->second) {
      return RemotePlanner::Place::kUseless;
    }
  }
  if (item.name.empty()) return RemotePlanner::Place::kRemote;
  const std::string path =
      options_->folder + "/" + ToText(options_->fingerprint) + "/" + ObjectFileName(item.name);
  return options_->fs->Stat(path) ? RemotePlanner::Place::kLocal : RemotePlanner::Place::kRemote;
}

Result<Bytes> RemoteFetcher::Get(const RemoteAsk& ask, const RemoteItem& item,
                                 const std::string& path) {
  if (!objects_breaker_->Allows()) {
    return Fail(ErrorCode::kUnavailable, "the remote store does not answer");
  }
  const double saved_ms = PrefillMs(ask, ask.tokens.size() - ask.reach_tokens);
  const double begin_ms = options_->clock->NowMs();
  const uint64_t bytes_max =
      std::min(kSizeSlack * item.entry.stored_bytes, ObjectBytesMax(ask, item.entry));
  Result<Bytes> sealed = TryCall<Bytes>([&] {
    return options_->objects->Get(path, bytes_max + kSealFrameBytes,
                                  DeadlineIn(std::clamp(saved_ms, kFetchMsMin, kFetchMsMax)));
  });
  objects_breaker_->Note(sealed ? Status{} : Status(tl::unexpected(sealed.error())));
  const double now_ms = options_->clock->NowMs();
  const double ms = now_ms - begin_ms;
  if (!sealed) {
    const bool late = sealed.error().code == ErrorCode::kTimedOut;
    if (late) pace_.AddUnfinished(item.entry.stored_bytes, ms, now_ms);
    return sealed;
  }
  pace_.AddTransfer(sealed->size(), ms, now_ms);
  fetched_bytes_ += sealed->size();
  fetch_us_ += static_cast<uint64_t>(ms * 1000);
  return Unseal(options_->keys, path, *std::move(sealed));
}

Result<ObjectHeader> RemoteFetcher::Check(const RemoteAsk& ask, const RemoteItem& item,
                                          ByteSpan file) const {
  Result<ObjectHeader> header = CheckObject(file);
  if (!header) return header;
  const RemoteEntry& entry = item.entry;
  const RemoteNames names(options_->keys.keys()[item.key], options_->fingerprint, ask.name_space);
  const ObjectName name = NameOf(*header);
  const bool is_it = header->fingerprint == options_->fingerprint &&
                     header->name_space == ask.name_space && names.IdOf(name) == entry.id &&
                     header->kind == entry.kind && header->begin == entry.begin &&
                     header->tokens.size() == entry.end && header->lineage == entry.lineage;
  if (!is_it) return Fail(ErrorCode::kCorrupt, "it is another object than the index says");
  if (CommonTokens(header->tokens, ask.tokens) < item.agrees_tokens) {
    // The object may be good for other prompts.
    return Fail(ErrorCode::kInvalidArgument, "its tokens are not the prompt's");
  }
  return header;
}

Status RemoteFetcher::WriteToFolder(const ObjectHeader& header, ByteSpan file) const {
  const std::string folder = options_->folder + "/" + ToText(options_->fingerprint);
  if (file.size() > options_->folder_bytes_max) {
    return Fail(ErrorCode::kNoSpace, "it is larger than --cache-disk");
  }
  if (Status made = options_->fs->MakeFolders(folder); !made) return made;
  const auto space = options_->fs->SpaceOf(folder);
  if (!space) return tl::unexpected(space.error());
  if (space->free_bytes < options_->reserve_bytes + file.size()) {
    return Fail(ErrorCode::kNoSpace, "\"" + folder + "\": the device is full");
  }
  return PutFile(options_->fs, folder, ObjectFileName(NameOf(header)), file);
}

bool RemoteFetcher::Fetch(const RemoteAsk& ask, const RemoteItem& item) {
  TraceSpan span(options_->trace, "remote fetch");
  const RemoteNames names(options_->keys.keys()[item.key], options_->fingerprint, ask.name_space);
  const std::string path = names.PathOf(item.entry.id);
  const Result<Bytes> file = Get(ask, item, path);
  if (!file) {
    Reject(item, file.error().code);
    return false;
  }
  const Result<ObjectHeader> header = Check(ask, item, *file);
  if (!header) {
    Reject(item, header.error().code);
    LogOnce("remote object " + path + " is not used: " + header.error().message);
    return false;
  }
  span.Add("bytes", file->size()).End();
  const ObjectName name = NameOf(*header);
  if (const Status written = WriteToFolder(*header, *file); !written) {
    LogOnce("a remote object cannot be kept: " + written.error().message);
    return false;
  }
  ++fetched_;
  const bool is_short = header->tokens.size() < kRemoteBlockTokens;
  known_->Put(name, {item.entry, header->parent, is_short, options_->clock->NowMs()});
  return options_->adopt(name, kAdoptMsMax);
}

void RemoteFetcher::Reject(const RemoteItem& item, ErrorCode why) {
  const bool corrupt = why == ErrorCode::kCorrupt || why == ErrorCode::kUnsupported ||
                       why == ErrorCode::kInvalidArgument;
  if (corrupt) ++corrupt_;
  if (why == ErrorCode::kNotFound) ++stale_;
  if (!corrupt && why != ErrorCode::kNotFound) return;
  {
    const MutexLock lock(mutex_);
    Remember(&useless_until_ms_, item.entry.id, options_->clock->NowMs() + kUselessMs);
  }
  // Others may have a use for it: for a newer version's object, or with another prompt.
  const bool useless = why == ErrorCode::kCorrupt || why == ErrorCode::kNotFound;
  if (options_->read_only || !useless || !index_breaker_->AllowsWrite()) return;
  index_breaker_->Note(
      options_->index->Remove(item.index_key, item.entry.id, DeadlineIn(kRemoveMsMax)));
}

void RemoteFetcher::LogOnce(const std::string& line) {
  const MutexLock lock(mutex_);
  const double now_ms = options_->clock->NowMs();
  if (!options_->log || now_ms - logged_ms_ < kLogEveryMs) return;
  logged_ms_ = now_ms;
  options_->log(LogLevel::kWarning, line);
}

void RemoteFetcher::AddTo(RemoteStats* stats) const {
  stats->lookups = lookups_;
  stats->hits = hits_;
  stats->too_slow = too_slow_;
  stats->fetched = fetched_;
  stats->fetched_bytes = fetched_bytes_;
  stats->fetch_ms = static_cast<double>(fetch_us_) / 1000;
  stats->corrupt = corrupt_;
  stats->stale = stale_;
}

}  // namespace cairn
