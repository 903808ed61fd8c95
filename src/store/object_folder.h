// ObjectFolder: a disk store's folder (store/disk/disk_store.h) for somebody who runs no server:
// what is in it, whether it is good, and what stands on what.
//
// Servers may be using the folder meanwhile: a file that goes away is no error, and what is written
// appears whole.
//
// Threads: one caller.

#ifndef CAIRN_STORE_OBJECT_FOLDER_H_
#define CAIRN_STORE_OBJECT_FOLDER_H_

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

// An object whose front is good. Its tokens are left out, as those of a full folder are gigabytes.
struct FoundObject {
  std::string model;  // its folder: the fingerprint as text
  ObjectName name;
  uint64_t file_bytes = 0;
  int64_t time_ns = 0;  // see disk_store.h: of its uses more than of its writing
  ObjectHeader header;  // without tokens
  size_t end = 0;       // how many tokens there are
};

// Another file.
struct FoundFile {
  std::string path;  // whole
  uint64_t bytes = 0;
  int64_t time_ns = 0;
  // It is called as an object and is none that any version would read, so it may be removed.
  // Whatever else lies in the folder is somebody's: foreign files, and those that could only not be
  // read.
  bool removable = false;
  // Why it cannot be used: begins with the quoted path.
  std::string why = {};
};

struct FolderContents {
  std::vector<std::string> models;   // folders, whatever is in them
  std::vector<FoundObject> objects;  // in no order
  std::vector<FoundFile> bad;
  std::vector<FoundFile> newer;                   // objects of a newer version
  std::vector<FoundFile> unfinished;              // being written, or left by who was killed
  std::map<std::string, std::string> identities;  // by model; see store/identity.h
  DiskIndex index;                                // of the objects

  FolderContents() = default;
  // The index points into itself.
  FolderContents(FolderContents&&) = default;
  FolderContents& operator=(FolderContents&&) = default;
  FolderContents(const FolderContents&) = delete;
  FolderContents& operator=(const FolderContents&) = delete;

  const FoundObject* Find(const std::string& model, const ObjectName& name) const;
};

// What leads to an object.
struct ObjectPath {
  // The attention KV up to the object's end, or to a segment's own, shallowest first.
  std::vector<const FoundObject*> segments = {};
  // All of it is there, from 0 on. Of a whole, always: it needs none.
  bool whole = false;
  // Why not, when not.
  std::string gap = {};
};

class ObjectFolder {
 public:
  // The share that is done, in [0, 1].
  using Progress = std::function<void(float)>;

  // `fs` outlives it. `path`: the store's folder.
  ObjectFolder(Fs* fs, std::string path) : fs_(fs), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string PathOf(const FoundObject& object) const;

  // Reads the fronts of all objects. Errors: the folder itself cannot be listed.
  Result<FolderContents> Scan(const Progress& progress) const;
  // Reads all of an object. kNotFound: it has gone. kUnsupported: a newer version's is in its
  // place. kCorrupt, and errors of Fs: it is bad.
  Status Verify(const FoundObject& object) const;

  // kNotFound, kCorrupt: the object has gone or changed since it was found.
  Result<ObjectPath> FindPath(const FolderContents& contents, const FoundObject& object) const;
  // The snapshots along an object's path, its end included, shallowest first.
  // Errors as FindPath's.
  Result<std::vector<const FoundObject*>> SnapshotsOn(const FolderContents& contents,
                                                      const FoundObject& object,
                                                      const ObjectPath& path) const;

  // The object's file as it is, checked. Errors as Verify's.
  Result<Bytes> ReadFile(const FoundObject& object) const;
  // Puts an object's file, checked before, in its place. False: it is there already, and stays.
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

// Of all bytes of an object's file. kUnsupported: they are of a newer format. kCorrupt: they are
// none, and why not.
Result<ObjectHeader> CheckObject(ByteSpan file);

struct LoadedObject {
  ObjectHeader header;
  Bytes payload;  // before the codec
};
// As CheckObject, and what is in it.
Result<LoadedObject> LoadObject(Bytes file);

}  // namespace cairn

#endif  // CAIRN_STORE_OBJECT_FOLDER_H_
