// HubCache: the folder of downloaded models that huggingface_hub and llama-server keep too, so that
// no program downloads what another one has:
//
//   HUB/models--USER--REPO/blobs/SUM                        the content
//   HUB/models--USER--REPO/snapshots/COMMIT/PATH            a symbolic link to it
//   HUB/models--USER--REPO/refs/main                        the newest commit
//   HUB/.locks/models--USER--REPO/SUM.lock                  whoever downloads it holds this lock
//
// The name of a blob is its checksum. A blob takes its name when it is whole, and nobody changes
// it.

#ifndef CAIRN_DOWNLOAD_HUB_HUB_CACHE_H_
#define CAIRN_DOWNLOAD_HUB_HUB_CACHE_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "download/hub/hub_files.h"

namespace cairn {

// Any thread and any number of processes.
class HubCache {
 public:
  explicit HubCache(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  // Where the content of a file is or will be. Without a checksum that is the file in the snapshot.
  std::string BlobPath(const std::string& repo, const std::string& commit,
                       const HubFile& file) const;
  std::string SnapshotPath(const std::string& repo, const std::string& commit,
                           const std::string& path) const;
  std::string LockPath(const std::string& repo, const HubFile& file) const;

  // Gives the blob of `file` its name in the snapshot; does nothing if it has it.
  Status Link(const std::string& repo, const std::string& commit, const HubFile& file) const;
  // Notes `commit` as the newest one.
  Status WriteRef(const std::string& repo, const std::string& commit) const;

  // Returns the repositories of which there is something, as "USER/REPO", sorted.
  std::vector<std::string> Repos() const;

  struct Snapshot {
    std::string commit;
    std::vector<HubFile> files;  // those whose content is there, sorted by path
  };
  // Lists what is there of a repository: the snapshot of refs/main first, then the others, the
  // newest first. The sum is known where the file links to a blob.
  std::vector<Snapshot> List(const std::string& repo) const;

 private:
  std::string RepoFolder(const std::string& repo) const;

  const std::string folder_;
};

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_HUB_HUB_CACHE_H_
