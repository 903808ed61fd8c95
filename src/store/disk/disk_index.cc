#include "store/disk/disk_index.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"

namespace cairn {
namespace {

// log2 of the largest number of uses that a time is allowed to stand for.
constexpr double kHalfLivesAheadMax = 20;
// Far below the range of a 64-bit time.
constexpr double kSecondsAheadMax = 2e9;
constexpr double kWorthMsMin = 1e-9;
constexpr double kWorthMsMax = 1e18;

// A time too far ahead for any number of uses was set under a wrong clock, here or on the machine
// that wrote the file. If it were believed, the object could not be evicted before that time. It
// counts as used a half-life ago, so objects used now rank higher.
constexpr double kOfAWrongClock = -1;

// In half-lives; negative if the last use was before now.
double Ahead(int64_t time_ns, int64_t now_ns, double half_life_s) {
  const double seconds =
      (static_cast<double>(time_ns) - static_cast<double>(now_ns)) / kNsPerSecond;
  const double ahead = seconds / half_life_s;
  return ahead > kHalfLivesAheadMax ? kOfAWrongClock : ahead;
}

constexpr double kNeverGoes = std::numeric_limits<double>::infinity();

// Returns the hashes of the prefixes of `header`'s tokens that end at multiples of kBlockTokens,
// from the one at or before `from` to the last one before `to`. Each hash includes everything that
// keeps states apart.
std::vector<uint64_t> BlocksBetween(const ObjectHeader& header, size_t from, size_t to) {
  constexpr size_t kBlock = DiskIndex::kBlockTokens;
  std::vector<uint64_t> blocks;
  uint64_t hash = HashMix(HashMix(header.fingerprint.high, header.fingerprint.low),
                          HashMix(header.name_space, header.lineage));
  for (size_t begin = 0; begin < to; begin += kBlock) {
    if (begin + kBlock > from) blocks.push_back(hash);
    if (begin + kBlock >= to) break;
    hash = Hash64(&header.tokens[begin], kBlock * sizeof(Token), hash);
  }
  return blocks;
}

std::vector<uint64_t> BlocksOf(const ObjectHeader& header) {
  const size_t end = header.tokens.size();
  if (end == 0) return {};
  switch (header.kind) {
    case ObjectKind::kSegment:
      return BlocksBetween(header, header.begin, end);
    case ObjectKind::kSnapshot:
      return BlocksBetween(header, end - 1, end);
    case ObjectKind::kFullState:
    case ObjectKind::kMediaRows:
      break;
  }
  return {};
}

// A bad entry goes first; an entry that cannot be removed keeps the objects that it needs.
double OwnRank(const DiskEntry& entry, double newer_ms_per_byte, int64_t now_ns,
               double half_life_s) {
  if (entry.stuck) return kNeverGoes;
  if (!entry.good && !entry.newer) return -kNeverGoes;
  const double worth_ms =
      entry.newer ? newer_ms_per_byte * static_cast<double>(entry.bytes) : entry.worth_ms;
  return ObjectRank(worth_ms, entry.bytes, entry.time_ns, now_ns, half_life_s);
}

bool IsOfCache(const DiskEntry& entry) {
  return entry.good && entry.kind != ObjectKind::kMediaRows;
}

size_t Depth(ObjectKind kind, size_t begin, size_t end) {
  return kind == ObjectKind::kSegment ? begin : end;
}

}  // namespace

int64_t TimeAfterUses(int64_t time_ns, int64_t now_ns, uint64_t uses, double half_life_s) {
  const double left = std::exp2(Ahead(time_ns, now_ns, half_life_s));
  const double ahead = std::min(std::log2(left + static_cast<double>(uses)), kHalfLivesAheadMax);
  const double seconds = half_life_s * ahead;
  return now_ns + std::llround(std::min(seconds, kSecondsAheadMax) * kNsPerSecond);
}

double ObjectRank(double worth_ms, uint64_t bytes, int64_t time_ns, int64_t now_ns,
                  double half_life_s) {
  const double worth =
      std::isnan(worth_ms) ? kWorthMsMin : std::clamp(worth_ms, kWorthMsMin, kWorthMsMax);
  const double size = static_cast<double>(std::max<uint64_t>(bytes, 1));
  return std::log2(worth / size) + Ahead(time_ns, now_ns, half_life_s);
}

DiskEntry DiskIndex::BadEntry(std::string model, const ObjectName& name, const FileStat& stat) {
  DiskEntry entry;
  entry.model = std::move(model);
  entry.name = name;
  entry.bytes = stat.bytes;
  entry.time_ns = stat.time_ns;
  return entry;
}

DiskEntry DiskIndex::NewerEntry(std::string model, const ObjectName& name, const FileStat& stat) {
  DiskEntry entry = BadEntry(std::move(model), name, stat);
  entry.newer = true;
  return entry;
}

DiskEntry DiskIndex::EntryOf(const ObjectHeader& header, const ObjectName& name,
                             const FileStat& stat) {
  DiskEntry entry = BadEntry(ToText(header.fingerprint), name, stat);
  entry.good = true;
  entry.kind = header.kind;
  entry.parent = header.parent;
  entry.begin = header.begin;
  entry.end = header.tokens.size();
  entry.worth_ms = header.worth_ms;
  entry.blocks = BlocksOf(header);
  return entry;
}

// A segment needs its parent, which begins before it. A snapshot or full state at the same depth as
// a segment's begin does not need that segment.
size_t DiskIndex::DepthOf(const ObjectHeader& header) {
  return Depth(header.kind, header.begin, header.tokens.size());
}

size_t DiskIndex::DepthOf(const DiskEntry& entry) {
  return Depth(entry.kind, entry.begin, entry.end);
}

const DiskEntry& DiskIndex::Put(DiskEntry entry) {
  Erase(entry.model, entry.name);
  Model& model = models_[entry.model];
  bytes_ += entry.bytes;
  if (entry.good) ++model.good;
  if (IsOfCache(entry)) model.cache_bytes += entry.bytes;
  Node& node = model.objects[entry.name];
  node.entry = std::move(entry);
  if (node.entry.kind == ObjectKind::kSegment) {
    for (const uint64_t block : node.entry.blocks) segments_.emplace(block, &node);
  }
  return node.entry;
}

void DiskIndex::Erase(const std::string& model, const ObjectName& name) {
  const auto of_model = models_.find(model);
  if (of_model == models_.end()) return;
  const auto found = of_model->second.objects.find(name);
  if (found == of_model->second.objects.end()) return;
  Node& node = found->second;
  if (node.entry.kind == ObjectKind::kSegment) {
    for (const uint64_t block : node.entry.blocks) {
      const auto [first, last] = segments_.equal_range(block);
      const auto listed =
          std::find_if(first, last, [&](const auto& item) { return item.second == &node; });
      if (listed != last) segments_.erase(listed);
    }
  }
  bytes_ -= node.entry.bytes;
  if (node.entry.good) --of_model->second.good;
  if (IsOfCache(node.entry)) of_model->second.cache_bytes -= node.entry.bytes;
  of_model->second.objects.erase(found);
  if (of_model->second.objects.empty()) models_.erase(of_model);
}

DiskIndex::Node* DiskIndex::FindNode(const std::string& model, const ObjectName& name) {
  const auto of_model = models_.find(model);
  if (of_model == models_.end()) return nullptr;
  const auto found = of_model->second.objects.find(name);
  return found == of_model->second.objects.end() ? nullptr : &found->second;
}

const DiskEntry* DiskIndex::Find(const std::string& model, const ObjectName& name) const {
  const auto of_model = models_.find(model);
  if (of_model == models_.end()) return nullptr;
  const auto found = of_model->second.objects.find(name);
  return found == of_model->second.objects.end() ? nullptr : &found->second.entry;
}

void DiskIndex::SetTime(const std::string& model, const ObjectName& name, int64_t time_ns) {
  Node* const node = FindNode(model, name);
  if (node != nullptr) node->entry.time_ns = time_ns;
}

void DiskIndex::SetStuck(const std::string& model, const ObjectName& name) {
  Node* const node = FindNode(model, name);
  if (node != nullptr) node->entry.stuck = true;
}

void DiskIndex::ClearStuck() {
  for (auto& [text, model] : models_) {
    for (auto& [name, node] : model.objects) node.entry.stuck = false;
  }
}

std::vector<std::string> DiskIndex::Models() const {
  std::vector<std::string> models;
  for (const auto& [text, model] : models_) models.push_back(text);
  return models;
}

std::vector<ObjectName> DiskIndex::NamesOf(const std::string& model) const {
  std::vector<ObjectName> names;
  const auto found = models_.find(model);
  if (found == models_.end()) return names;
  for (const auto& [name, node] : found->second.objects) names.push_back(name);
  return names;
}

uint64_t DiskIndex::GoodObjects(const std::string& model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? 0 : found->second.good;
}

uint64_t DiskIndex::CacheBytes(const std::string& model) const {
  const auto found = models_.find(model);
  return found == models_.end() ? 0 : found->second.cache_bytes;
}

double DiskIndex::MedianMsPerByte() const {
  std::vector<double> each;
  for (const auto& [text, model] : models_) {
    for (const auto& [name, node] : model.objects) {
      if (!node.entry.good || node.entry.bytes == 0) continue;
      each.push_back(node.entry.worth_ms / static_cast<double>(node.entry.bytes));
    }
  }
  if (each.empty()) return 1;
  const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
  std::nth_element(each.begin(), middle, each.end());
  return *middle;
}

std::vector<DiskIndex::Node*> DiskIndex::RankedByDepth(const DiskEntry* incoming, int64_t now_ns,
                                                       double half_life_s) {
  std::vector<Node*> nodes;
  const double newer_ms_per_byte = MedianMsPerByte();
  for (auto& [text, model] : models_) {
    for (auto& [name, node] : model.objects) {
      node.rank = OwnRank(node.entry, newer_ms_per_byte, now_ns, half_life_s);
      nodes.push_back(&node);
    }
  }
  if (incoming != nullptr) FindNode(incoming->model, incoming->name)->rank = kNeverGoes;
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
    return DepthOf(a->entry) > DepthOf(b->entry);
  });
  return nodes;
}

void DiskIndex::RaiseNeeded(const Node& node) {
  const DiskEntry& entry = node.entry;
  if (!entry.good) return;
  if (entry.kind == ObjectKind::kSegment && !entry.parent.empty()) {
    Node* const parent = FindNode(entry.model, entry.parent);
    if (parent != nullptr && parent->entry.good) parent->rank = std::max(parent->rank, node.rank);
  }
  if (entry.kind != ObjectKind::kSnapshot || entry.blocks.empty()) return;
  const auto [first, last] = segments_.equal_range(entry.blocks.front());
  for (auto item = first; item != last; ++item) {
    Node& segment = *item->second;
    const bool holds = segment.entry.begin < entry.end && entry.end <= segment.entry.end;
    if (holds) segment.rank = std::max(segment.rank, node.rank);
  }
}

std::optional<std::vector<DiskEntry>> DiskIndex::ToFree(uint64_t bytes, const DiskEntry* incoming,
                                                        int64_t now_ns, double half_life_s) {
  std::vector<DiskEntry> evicted;
  if (bytes == 0) return evicted;
  std::vector<Node*> nodes = RankedByDepth(incoming, now_ns, half_life_s);
  // With the deepest first, each rank is final before it is passed on to the objects needed.
  for (const Node* const node : nodes) RaiseNeeded(*node);
  // Among equal ranks the deeper object goes first: an object that needs another never ranks higher
  // than that one, so it is evicted before it.
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node* a, const Node* b) { return a->rank < b->rank; });
  uint64_t freed = 0;
  for (const Node* const node : nodes) {
    if (node->rank >= kNeverGoes) break;
    evicted.push_back(node->entry);
    freed += node->entry.bytes;
    if (freed >= bytes) return evicted;
  }
  return std::nullopt;
}

}  // namespace cairn
