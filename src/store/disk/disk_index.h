// DiskIndex: the known contents of the disk store's folder: of every object of every model, the
// fields that ranking needs. No I/O.
//
// The index decides the eviction order. An object that others need is evicted after them:
//
//   a segment  <- the segments that begin in it (their header's `parent`)
//              <- the snapshots whose last token lies in it
//
// Headers do not name the segment that a snapshot depends on. It is found by hashes of the token
// prefixes at every kBlockTokens: a segment is indexed by all block ends within it, and a snapshot
// looks up the last block end before its own end. Sequences that diverge within one block are taken
// for the same; the only effect is that a segment is kept a little longer than needed.
//
// Threads: called by one thread.

#ifndef CAIRN_STORE_DISK_DISK_INDEX_H_
#define CAIRN_STORE_DISK_DISK_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/fs.h"
#include "store/object.h"

namespace cairn {

// The two formulas of disk_store.h that rank an object of the disk store against the others.
//
// Pure functions; any thread.

// Returns the file's time after `uses` more uses at `now_ns`. A time too far in the future to be
// true (written under a wrong clock) counts as about a million uses.
int64_t TimeAfterUses(int64_t time_ns, int64_t now_ns, uint64_t uses, double half_life_s);

// Returns log2(worth_ms / bytes) + time / half_life, with the time relative to `now_ns`, so only
// ranks computed for the same moment are comparable. The result is finite whatever a file says.
double ObjectRank(double worth_ms, uint64_t bytes, int64_t time_ns, int64_t now_ns,
                  double half_life_s);

// One file. `model` is the name of its folder: the fingerprint as text.
struct DiskEntry {
  std::string model;
  ObjectName name;
  uint64_t bytes = 0;   // size of the file
  int64_t time_ns = 0;  // time of the file, from which the rank follows
  // False if its front is invalid, or (with `newer`) if we cannot read it. A bad file is of no use
  // to any version, so it is evicted first.
  bool good = false;
  // Written by a newer version, for which it may be worth as much as our objects are for us.
  bool newer = false;
  // Removing it failed; not tried again before the next scan.
  bool stuck = false;
  // The following fields are set for good entries only.
  ObjectKind kind = ObjectKind::kSnapshot;
  ObjectName parent;
  size_t begin = 0;  // in tokens
  size_t end = 0;
  double worth_ms = 0;
  // Hashes by which dependent objects find this segment.
  std::vector<uint64_t> blocks = {};
};

class DiskIndex {
 public:
  static constexpr size_t kBlockTokens = 512;

  // Returns the entry for the file `name` whose front is `header`.
  static DiskEntry EntryOf(const ObjectHeader& header, const ObjectName& name,
                           const FileStat& stat);
  // Returns the entry for the file `name` whose front is invalid.
  static DiskEntry BadEntry(std::string model, const ObjectName& name, const FileStat& stat);
  // Returns the entry for the file `name` of a newer version.
  static DiskEntry NewerEntry(std::string model, const ObjectName& name, const FileStat& stat);
  // Sorting by depth puts objects after all that they need.
  static size_t DepthOf(const ObjectHeader& header);

  // Adds the entry, or replaces the one of the same model and name. The result is valid until it is
  // erased or replaced.
  const DiskEntry& Put(DiskEntry entry);
  // Does nothing if there is no such entry.
  void Erase(const std::string& model, const ObjectName& name);
  // Returns nullptr if there is no such entry. The result is valid until it is erased or replaced.
  const DiskEntry* Find(const std::string& model, const ObjectName& name) const;
  // Does nothing if there is no such entry.
  void SetTime(const std::string& model, const ObjectName& name, int64_t time_ns);
  void SetStuck(const std::string& model, const ObjectName& name);
  void ClearStuck();

  std::vector<std::string> Models() const;
  std::vector<ObjectName> NamesOf(const std::string& model) const;
  // The number of the model's objects that we can read.
  uint64_t GoodObjects(const std::string& model) const;
  // The size of the model's objects that a cache takes in: those that we can read, but no media
  // rows.
  uint64_t CacheBytes(const std::string& model) const;
  // The size of all files.
  uint64_t bytes() const { return bytes_; }

  // Returns the objects to evict, in order, to free `bytes`: the lowest rank first, and no object
  // before those that need it. Only the file's time is known of a newer version's object: it is
  // ranked by that, with the median of our objects' worth per byte. `incoming`, unless null, is an
  // entry whose file is about to be written: neither it nor what it needs is evicted. Returns
  // nullopt if that many bytes cannot be freed.
  std::optional<std::vector<DiskEntry>> ToFree(uint64_t bytes, const DiskEntry* incoming,
                                               int64_t now_ns, double half_life_s);

 private:
  struct Node {
    DiskEntry entry;
    double rank = 0;  // computed by the last ToFree
  };
  struct Model {
    std::map<ObjectName, Node> objects;
    uint64_t good = 0;
    uint64_t cache_bytes = 0;  // see CacheBytes
  };

  Node* FindNode(const std::string& model, const ObjectName& name);
  static size_t DepthOf(const DiskEntry& entry);
  // The worth per byte assumed for a newer version's object: the median of ours; 1 if there are
  // none.
  double MedianMsPerByte() const;
  // Computes each node's own rank, which for `incoming` is the highest; returns the nodes with the
  // deepest first.
  std::vector<Node*> RankedByDepth(const DiskEntry* incoming, int64_t now_ns, double half_life_s);
  // Raises the rank of the objects that `node` needs to at least its own.
  void RaiseNeeded(const Node& node);

  std::map<std::string, Model> models_;
  std::unordered_multimap<uint64_t, Node*> segments_;  // by the hash of each of their blocks
  uint64_t bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_INDEX_H_
