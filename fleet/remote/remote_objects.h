// RemoteObjects: sealed objects in a store that several servers share, by name. An object never
// changes: of two that write one name, either may win, as both have the same content.
//
// All calls block, at most until the deadline. Errors: kNotFound: there is no such object.
// kNoSpace: the store is full. kUnavailable: it is down, or refuses this client. kTimedOut: the
// deadline has passed. kCorrupt: its answer makes no sense. A message never contains a secret.
//
// Threads: any.

#ifndef CAIRN_FLEET_REMOTE_REMOTE_OBJECTS_H_
#define CAIRN_FLEET_REMOTE_REMOTE_OBJECTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/provenance.h"
#include "base/result.h"
#include "fleet/remote/remote_names.h"
#include "store/object.h"

namespace cairn {

using Deadline = std::chrono::steady_clock::time_point;

// Returns the moment in `ms` milliseconds.
inline Deadline DeadlineIn(double ms) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double, std::milli>(ms));
}

// No object is larger; what claims to be is not read.
inline constexpr uint64_t kRemoteObjectBytesMax = uint64_t{8} << 30;
// The objects of one conversation's path, from its end to its begin, that are followed.
inline constexpr size_t kPathObjectsMax = 4096;

class RemoteObjects {
 public:
  virtual ~RemoteObjects() = default;

  // Whether the object is there; if so, a store that lets objects expire keeps it for longer.
  virtual Result<bool> Has(const std::string& path, Deadline deadline) = 0;
  // Succeeds without a change if the object is there. A reader sees all of it or none.
  virtual Status Put(const std::string& path, ByteSpan bytes, Deadline deadline) = 0;
  // Returns the first `bytes_max` bytes, or fewer if the object ends before.
  virtual Result<Bytes> Get(const std::string& path, uint64_t bytes_max, Deadline deadline) = 0;
  // Succeeds if there is no such object.
  virtual Status Remove(const std::string& path, Deadline deadline) = 0;
  // Calls `visit` for each object whose path begins with `prefix`, in any order. Takes long; no
  // request waits for it.
  virtual Status List(const std::string& prefix,
                      const std::function<void(const std::string& path, uint64_t bytes)>& visit,
                      Deadline deadline) = 0;
  // Has all calls, present and later ones, end soon with an error. For the end of the process.
  virtual void Cancel() {}
};

// RemoteIndex: finds the remote objects of a prompt by hashes of its blocks of 512 tokens
// (fleet/remote/remote_names.h). Whoever loses it loses hits and nothing else: an entry may be
// missing, stale or forged, and the object that it leads to is checked.
//
// All calls block, at most until the deadline; errors as in fleet/remote/remote_objects.h.
//
// Threads: any.

// The most entries that a reader takes of one key: the newest ones.
inline constexpr size_t kEntriesPerKeyMax = 64;

// One object, as the index describes it. docs/format.md specifies the 88 bytes.
struct RemoteEntry {
  ObjectKind kind = ObjectKind::kSnapshot;
  uint8_t checkpoint_class = 0;
  bool has_logits = false;
  RemoteId id;
  RemoteId parent;  // segments: the one that it begins in; empty if it begins at 0
  uint64_t begin = 0;
  uint64_t end = 0;
  LineageId lineage = 0;
  uint64_t stored_bytes = 0;  // size of the sealed object
  double worth_ms = 0;
  int64_t written_s = 0;  // seconds since 1970

  friend bool operator==(const RemoteEntry&, const RemoteEntry&) = default;
};

inline constexpr size_t kEntryBytes = 88;
std::string EncodeEntry(const RemoteEntry& entry);
// Returns kCorrupt if it is not an entry; kUnsupported if a newer version wrote it.
Result<RemoteEntry> DecodeEntry(ByteSpan bytes);
// Keeps the newest entries that a reader takes.
void KeepNewest(std::vector<RemoteEntry>* entries);

class RemoteIndex {
 public:
  struct Row {
    std::string key;
    RemoteEntry entry;
  };

  virtual ~RemoteIndex() = default;

  // Returns the entries of each key, in one round trip. Entries that cannot be read are left out.
  virtual Result<std::vector<std::vector<RemoteEntry>>> Find(const std::vector<std::string>& keys,
                                                             Deadline deadline) = 0;
  // Adds the rows, or replaces those of the same key and id. They expire after `ttl_s`.
  virtual Status Add(const std::vector<Row>& rows, int64_t ttl_s, Deadline deadline) = 0;
  virtual Status Remove(const std::string& key, const RemoteId& id, Deadline deadline) = 0;
  // As RemoteObjects::Cancel.
  virtual void Cancel() {}
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_REMOTE_OBJECTS_H_
