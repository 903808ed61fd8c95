#include "fleet/remote/remote_tools.h"

#include <algorithm>
#include <utility>

#include "fleet/remote/seal.h"
#include "store/folder/object_folder.h"

namespace cairn {
namespace {

constexpr double kListMsMax = 3600e3;
constexpr double kCallMsMax = 60e3;
// The front of a conversation of some ten thousand tokens.
constexpr uint64_t kBeginBytes = uint64_t{256} << 10;
constexpr size_t kRowsAtOnce = 512;

Deadline CallDeadline() {
  return DeadlineIn(kCallMsMax);
}

}  // namespace

Result<std::vector<RemoteFound>> RemoteTools::List() const {
  std::vector<RemoteFound> all;
  const Status listed = objects_->List(
      std::string(kRemoteRoot),
      [&](const std::string& path, uint64_t bytes) {
        auto parsed = ParseRemotePath(path);
        if (parsed) all.push_back({path, bytes, *std::move(parsed)});
      },
      DeadlineIn(kListMsMax));
  if (!listed) return tl::unexpected(listed.error());
  std::sort(all.begin(), all.end(),
            [](const RemoteFound& a, const RemoteFound& b) { return a.path < b.path; });
  return all;
}

Result<ObjectHeader> RemoteTools::ReadHeader(const RemoteFound& found) const {
  auto begin = objects_->Get(found.path, kBeginBytes, CallDeadline());
  if (!begin) return tl::unexpected(begin.error());
  const auto needed = BytesToFrontEnd(*keys_, *begin);
  if (!needed) return tl::unexpected(needed.error());
  if (*needed > begin->size() && begin->size() == kBeginBytes) {
    begin = objects_->Get(found.path, *needed, CallDeadline());
    if (!begin) return tl::unexpected(begin.error());
  }
  const auto front = UnsealFront(*keys_, found.path, *begin);
  if (!front) return tl::unexpected(front.error());
  auto header = DecodeHeader(*front);
  if (header && !KeyOf(found, *header)) {
    return Fail(ErrorCode::kCorrupt, "it is another object than its name says");
  }
  return header;
}

std::optional<size_t> RemoteTools::KeyOf(const RemoteFound& found,
                                         const ObjectHeader& header) const {
  for (size_t i = 0; i < keys_->keys().size(); ++i) {
    const RemoteNames names(keys_->keys()[i], header.fingerprint, header.name_space);
    if (names.PathOf(names.IdOf(NameOf(header))) == found.path) return i;
  }
  return std::nullopt;
}

Status RemoteTools::Verify(const RemoteFound& found) const {
  auto sealed = objects_->Get(found.path, found.bytes + 1, CallDeadline());
  if (!sealed) return tl::unexpected(sealed.error());
  const auto file = Unseal(*keys_, found.path, *std::move(sealed));
  if (!file) return tl::unexpected(file.error());
  const auto header = CheckObject(*file);
  if (!header) return tl::unexpected(header.error());
  if (KeyOf(found, *header)) return {};
  return Fail(ErrorCode::kCorrupt, "it is another object than its name says");
}

Status RemoteTools::Remove(const RemoteFound& found) const {
  return objects_->Remove(found.path, CallDeadline());
}

Result<RemoteTools::Facts> RemoteTools::FactsOf(const RemoteFound& found,
                                                const ObjectHeader& header) const {
  Facts facts;
  facts.key = KeyOf(found, header).value_or(0);
  facts.fingerprint = header.fingerprint;
  facts.name_space = header.name_space;
  const RemoteNames names(keys_->keys()[facts.key], header.fingerprint, header.name_space);
  facts.blocks = names.Blocks(header.tokens);
  facts.listed_under = BlocksOf(header);
  RemoteEntry& entry = facts.entry;
  entry.kind = header.kind;
  entry.checkpoint_class = header.checkpoint_class;
  entry.has_logits = header.kind == ObjectKind::kSnapshot && header.logits_bytes > 0;
  entry.id = found.parsed.id;
  entry.parent = names.IdOf(header.parent);
  entry.begin = header.begin;
  entry.end = header.tokens.size();
  entry.lineage = header.lineage;
  entry.stored_bytes = found.bytes;
  entry.worth_ms = header.worth_ms;
  return facts;
}

void RemoteTools::FindHolders(FactsById* all) {
  std::map<BlockHash, std::vector<const Facts*>> segments;  // by each block that lies in them
  for (const auto& [id, facts] : *all) {
    if (facts.entry.kind != ObjectKind::kSegment) continue;
    for (const size_t block : facts.listed_under) segments[facts.blocks[block]].push_back(&facts);
  }
  for (auto& [id, facts] : *all) {
    RemoteEntry& entry = facts.entry;
    // One without a whole block is in no index.
    if (entry.kind != ObjectKind::kSnapshot || facts.blocks.empty()) continue;
    for (const Facts* const segment : segments[facts.blocks.back()]) {
      const bool holds = segment->name_space == facts.name_space &&
                         segment->fingerprint == facts.fingerprint &&
                         segment->entry.lineage == entry.lineage &&
                         segment->entry.begin < entry.end && entry.end <= segment->entry.end;
      if (holds) entry.parent = segment->entry.id;
    }
  }
}

std::vector<RemoteIndex::Row> RemoteTools::RowsOf(const FactsById& all, const Facts& facts) const {
  std::vector<RemoteIndex::Row> rows;
  const RemoteNames names(keys_->keys()[facts.key], facts.fingerprint, facts.name_space);
  for (const size_t block : facts.listed_under) {
    rows.push_back({names.IndexKeyOf(facts.blocks[block]), facts.entry});
  }
  if (facts.blocks.empty()) return rows;
  // Those before it that have no whole block stand beside it.
  RemoteId parent = facts.entry.parent;
  for (size_t i = 0; i < kPathObjectsMax && !parent.empty(); ++i) {
    const auto found = all.find(parent);
    if (found == all.end()) break;
    if (found->second.blocks.empty()) {
      rows.push_back({names.IndexKeyOf(facts.blocks.front()), found->second.entry});
    }
    parent = found->second.entry.parent;
  }
  return rows;
}

Result<RemoteTools::Reindexed> RemoteTools::Reindex(int64_t ttl_s, int64_t now_s,
                                                    const Progress& progress) const {
  const auto found = List();
  if (!found) return tl::unexpected(found.error());
  Reindexed result;
  FactsById all;
  for (size_t i = 0; i < found->size(); ++i) {
    if (progress) progress(static_cast<float>(i) / static_cast<float>(found->size()));
    const RemoteFound& one = (*found)[i];
    const auto header = ReadHeader(one);
    if (!header && header.error().code != ErrorCode::kCorrupt &&
        header.error().code != ErrorCode::kUnsupported &&
        header.error().code != ErrorCode::kNotFound) {
      return tl::unexpected(header.error());
    }
    if (!header) {
      ++result.unreadable;
      continue;
    }
    auto facts = FactsOf(one, *header);
    if (!facts) return tl::unexpected(facts.error());
    facts->entry.written_s = now_s;
    all[one.parsed.id] = *std::move(facts);
  }
  FindHolders(&all);
  std::vector<RemoteIndex::Row> rows;
  const auto add = [&]() -> Status {
    return index_->Add(std::exchange(rows, {}), ttl_s, CallDeadline());
  };
  for (const auto& [id, facts] : all) {
    for (RemoteIndex::Row& row : RowsOf(all, facts)) rows.push_back(std::move(row));
    ++result.listed;
    if (rows.size() < kRowsAtOnce) continue;
    if (Status added = add(); !added) return tl::unexpected(added.error());
  }
  if (rows.empty()) return result;
  if (Status added = add(); !added) return tl::unexpected(added.error());
  return result;
}

}  // namespace cairn
