// RemoteTools: looks through a remote store without a server, and writes a lost index again.
//
// Threads: one caller. Calls block and may take long.

#ifndef CAIRN_FLEET_REMOTE_REMOTE_TOOLS_H_
#define CAIRN_FLEET_REMOTE_REMOTE_TOOLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fleet/remote/remote_names.h"
#include "fleet/remote/remote_objects.h"
#include "store/object.h"

namespace cairn {

struct RemoteFound {
  std::string path;
  uint64_t bytes = 0;
  ParsedRemotePath parsed;
};

class RemoteTools {
 public:
  // Receives the share that is done, in [0, 1].
  using Progress = std::function<void(float)>;

  // All arguments outlive it.
  RemoteTools(RemoteObjects* objects, RemoteIndex* index, const RemoteKeys* keys)
      : objects_(objects), index_(index), keys_(keys) {}

  // Returns all objects, sorted by their paths. Errors of the store.
  Result<std::vector<RemoteFound>> List() const;
  // Reads what an object is, without its payload. kCorrupt also if it is sealed with another key.
  Result<ObjectHeader> ReadHeader(const RemoteFound& found) const;
  // Reads and checks all of an object. kUnsupported: a newer version's; kCorrupt: nobody with these
  // keys can use it; other errors are the store's.
  Status Verify(const RemoteFound& found) const;
  Status Remove(const RemoteFound& found) const;

  struct Reindexed {
    size_t listed = 0;
    size_t unreadable = 0;
  };
  // Lists all objects in the index, for `ttl_s`. Errors of the stores; what was listed until then
  // stays.
  Result<Reindexed> Reindex(int64_t ttl_s, int64_t now_s, const Progress& progress) const;

 private:
  // An object's entry in the index, and its place there.
  struct Facts {
    RemoteEntry entry;
    size_t key = 0;
    Fingerprint fingerprint;
    uint64_t name_space = 0;
    std::vector<BlockHash> blocks;
    std::vector<size_t> listed_under;  // of blocks
  };
  using FactsById = std::map<RemoteId, Facts>;

  // The number of the key that the path was made with; nullopt if it is none of ours.
  std::optional<size_t> KeyOf(const RemoteFound& found, const ObjectHeader& header) const;
  Result<Facts> FactsOf(const RemoteFound& found, const ObjectHeader& header) const;
  // Fills in the segments that hold the snapshots' last tokens.
  static void FindHolders(FactsById* all);
  std::vector<RemoteIndex::Row> RowsOf(const FactsById& all, const Facts& facts) const;

  RemoteObjects* const objects_;
  RemoteIndex* const index_;
  const RemoteKeys* const keys_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_REMOTE_TOOLS_H_
