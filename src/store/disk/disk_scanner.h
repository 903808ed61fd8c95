// DiskScanner: finds the files of the disk store's folder that appeared and disappeared since the
// last scan. It reads only the fronts of new files.
//
// Threads: the I/O thread.

#ifndef CAIRN_STORE_DISK_DISK_SCANNER_H_
#define CAIRN_STORE_DISK_DISK_SCANNER_H_

#include <optional>
#include <string>

#include "store/disk/disk_listing.h"

namespace cairn {

class DiskScanner {
 public:
  // `listing` outlives it.
  explicit DiskScanner(DiskListing* listing) : listing_(listing) {}

  // Returns whether it saw the folder of our model; nullopt if it ended early, because the folder
  // could not be listed or the store stops.
  std::optional<bool> Scan();

 private:
  void ScanModel(const std::string& model);
  void ScanTemp(const std::string& model, const std::string& file);

  DiskListing* const listing_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_DISK_DISK_SCANNER_H_
