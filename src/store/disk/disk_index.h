// DiskIndex: what the disk store's folder holds, as far as it is known: of every object what
// ranking takes, of every model. No I/O.
//
// Which object goes next is decided here. An object that others need goes after them:
//
//   a segment  <- the segments that begin in it (their header's `parent`)
//              <- the snapshots whose last token lies in it
//
// Headers do not name the segment that a snapshot stands on. It is found by hashes of the tokens'
// beginnings at every kBlockTokens: a segment is known by all that lie in it, a snapshot by the
// last one before its end. Sequences that part within one block are taken for the same; then a
// segment is kept a little longer than it needs to be, and no more comes of it.
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

// One file. `model` is the name of its folder: its fingerprint, as text.
struct DiskEntry {
  std::string model;
  ObjectName name;
  uint64_t bytes = 0;   // of the file
  int64_t time_ns = 0;  // the file's, from which its rank follows
  // False: its front does not say what it should, or (`newer`) we cannot read it. Nobody can use
  // what is bad, so it goes first when room is needed.
  bool good = false;
  // A newer version's, to which it may be worth as much as ours are to us.
  bool newer = false;
  // It could not be removed, and is not tried again before the next scan.
  bool stuck = false;
  // The rest is of good ones only.
  ObjectKind kind = ObjectKind::kSnapshot;
  ObjectName parent;
  size_t begin = 0;  // tokens
  size_t end = 0;
  double worth_ms = 0;
  // By these, what stands on a segment finds it.
  std::vector<uint64_t> blocks = {};
};

class DiskIndex {
 public:
  static constexpr size_t kBlockTokens = 512;

  // The file `name` whose front is `header`.
  static DiskEntry EntryOf(const ObjectHeader& header, const ObjectName& name,
                           const FileStat& stat);
  // The file `name` whose front says nothing.
  static DiskEntry BadEntry(std::string model, const ObjectName& name, const FileStat& stat);
  // The file `name` of a newer version.
  static DiskEntry NewerEntry(std::string model, const ObjectName& name, const FileStat& stat);
  // Sorted by this, objects come after all that they need.
  static size_t DepthOf(const ObjectHeader& header);

  // In place of one of that model and name. What comes back is valid until it is erased or
  // replaced.
  const DiskEntry& Put(DiskEntry entry);
  // Nothing happens when it is not there.
  void Erase(const std::string& model, const ObjectName& name);
  // nullptr: it is not there. Valid until it is erased or replaced.
  const DiskEntry* Find(const std::string& model, const ObjectName& name) const;
  // Nothing happens when it is not there.
  void SetTime(const std::string& model, const ObjectName& name, int64_t time_ns);
  void SetStuck(const std::string& model, const ObjectName& name);
  void ClearStuck();

  std::vector<std::string> Models() const;
  std::vector<ObjectName> NamesOf(const std::string& model) const;
  // Of the model, that we can read.
  uint64_t GoodObjects(const std::string& model) const;
  // Of all files.
  uint64_t bytes() const { return bytes_; }

  // Those to be given up to free so many bytes, in this order: the least rank first, and none
  // before what needs it. Of a newer version's only the file's time is known: they rank by that, as
  // if each were worth for its bytes what the one in the middle of ours is. `incoming`, when given,
  // is an entry whose file is still to be written: neither it nor what ranks as high is given up.
  // Nothing: there are not so many bytes to be had.
  std::optional<std::vector<DiskEntry>> ToFree(uint64_t bytes, const DiskEntry* incoming,
                                               int64_t now_ns, double half_life_s);

 private:
  struct Node {
    DiskEntry entry;
    double rank = 0;  // of the last ToFree
  };
  struct Model {
    std::map<ObjectName, Node> objects;
    uint64_t good = 0;
  };

  Node* FindNode(const std::string& model, const ObjectName& name);
  static size_t DepthOf(const DiskEntry& entry);
  // What a newer version's is taken to be worth: the median of ours; 1 when there are none.
  double MedianMsPerByte() const;
  // Each with its own rank, the deepest first.
  std::vector<Node*> RankedByDepth(int64_t now_ns, double half_life_s);
  // Raises what `node` needs to its rank.
  void RaiseNeeded(const Node& node);

  std::map<std::string, Model> models_;
  std::unordered_multimap<uint64_t, Node*> segments_;  // by each of their blocks
  uint64_t bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_INDEX_H_
