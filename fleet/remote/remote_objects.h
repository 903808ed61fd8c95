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

#include "base/bytes.h"
#include "base/result.h"

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

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_REMOTE_OBJECTS_H_
