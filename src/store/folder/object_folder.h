// ObjectFolder: read access to a disk store's folder (store/disk/disk_store.h) without running a
// server. It lists the objects, verifies them and resolves which objects depend on which.
//
// Servers may use the folder at the same time: a file that disappears is not an error, and new
// files appear complete.
//
// Threads: one caller.

#ifndef CAIRN_STORE_FOLDER_OBJECT_FOLDER_H_
#define CAIRN_STORE_FOLDER_OBJECT_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fs.h"
#include "store/disk/disk_index.h"
#include "store/object.h"

namespace cairn {

// An object whose front is valid. Its tokens are left out, as those of a full folder take
// gigabytes.
struct FoundObject {
  std::string model;  // name of its folder: the fingerprint as text
  ObjectName name;
  uint64_t file_bytes = 0;
  int64_t time_ns = 0;  // the rank's time of disk_store.h: mostly of uses, not of the writing
  ObjectHeader header;  // without tokens
  size_t end = 0;       // number of tokens
};

// A file that is not a valid object.
struct FoundFile {
  std::string path;  // with the store's folder
  uint64_t bytes = 0;
  int64_t time_ns = 0;
  // True if the file has the name of an object and no version can read it, so it may be removed.
  // Other files may belong to someone: foreign files, and files that merely could not be read.
  bool removable = false;
  // The reason why it cannot be used; begins with the quoted path.
  std::string why = {};
};

struct FolderContents {
  std::vector<std::string> models;   // all model folders, also empty ones
  std::vector<FoundObject> objects;  // unordered
  std::vector<FoundFile> bad;
  std::vector<FoundFile> newer;                   // objects of a newer version
  std::vector<FoundFile> unfinished;              // being written, or left behind by a killed
                                                  // process
  std::map<std::string, std::string> identities;  // by model; see store/folder/identity.h
  DiskIndex index;                                // index of `objects`

  FolderContents() = default;
  // Movable only: the index points into itself.
  FolderContents(FolderContents&&) = default;
  FolderContents& operator=(FolderContents&&) = default;
  FolderContents(const FolderContents&) = delete;
  FolderContents& operator=(const FolderContents&) = delete;

  const FoundObject* Find(const std::string& model, const ObjectName& name) const;
};

// The segments that an object needs.
struct ObjectPath {
  // The attention KV up to the object's end (for a segment, up to its own end), shallowest first.
  std::vector<const FoundObject*> segments = {};
  // True if the segments cover all tokens from 0 on. Always true for a full state and for rows of a
  // medium, which need none.
  bool whole = false;
  // The reason why the path is incomplete; empty if it is complete.
  std::string gap = {};
};

class ObjectFolder {
 public:
  // Receives the share that is done, in [0, 1].
  using Progress = std::function<void(float)>;

  // `fs` outlives the object. `path` is the store's folder.
  ObjectFolder(Fs* fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string PathOf(const FoundObject& object) const;

  // Reads the fronts of all objects. Returns an error if the folder itself cannot be listed.
  Result<FolderContents> Scan(const Progress& progress) const;
  // Reads and checks all of an object. Returns kNotFound if it is gone and kUnsupported if a newer
  // version's file has replaced it. kCorrupt and the errors of Fs mean that the object is bad.
  Status Verify(const FoundObject& object) const;

  // Returns kNotFound or kCorrupt if the object is gone or has changed since it was found.
  Result<ObjectPath> FindPath(const FolderContents& contents, const FoundObject& object) const;
  // Returns the snapshots along an object's path, including one at its end, shallowest first.
  // Errors as for FindPath.
  Result<std::vector<const FoundObject*>> SnapshotsOn(const FolderContents& contents,
                                                      const FoundObject& object,
                                                      const ObjectPath& path) const;

  // Returns the object's file unchanged, after checking it. Errors as for Verify.
  Result<Bytes> ReadFile(const FoundObject& object) const;
  // Writes an object's file, which the caller has checked. Returns false, and leaves the existing
  // file, if the object is there already.
  Result<bool> WriteFile(const ObjectHeader& header, ByteSpan file);

 private:
  void ScanModel(const std::string& model, const Progress& progress,
                 FolderContents* contents) const;
  void ScanFile(const std::string& model, const std::string& file, FolderContents* contents) const;
  Result<Tokens> TokensOf(const FoundObject& object) const;
  Result<const FoundObject*> HolderOf(const FolderContents& contents, const FoundObject& snapshot,
                                      const Tokens& tokens) const;

  Fs* const fs_;
  const std::string path_;
};

// Checks all bytes of an object's file. Returns kUnsupported if the format is newer, and kCorrupt
// with the reason if the file is not a valid object.
Result<ObjectHeader> CheckObject(ByteSpan file);

struct LoadedObject {
  ObjectHeader header;
  Bytes payload;  // decoded
};
// Checks the file as CheckObject does and decodes its payload.
Result<LoadedObject> LoadObject(Bytes file);

}  // namespace cairn

#endif  // CAIRN_STORE_FOLDER_OBJECT_FOLDER_H_
