// The folder of the disk cache, and the file system that reads and writes it.

#ifndef CAIRN_CMD_LIB_CACHE_FOLDER_H_
#define CAIRN_CMD_LIB_CACHE_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "fleet/remote/sealed_fs.h"

namespace cairn {

// Returns $XDG_CACHE_HOME/cairn, or ~/.cache/cairn. Empty if there is no home; then there is no
// disk cache unless a folder is named. A relative path in XDG_CACHE_HOME is ignored, as its
// specification demands. Do not call while another thread changes the environment.
std::string DefaultCacheFolder();

// Returns the machine's file system, or one that seals with the key in `key_file`
// (--cache-key-file) unless that is empty. kInvalidArgument if the file cannot be read or has no
// key; the message names the flag.
Result<std::unique_ptr<Fs>> MakeCacheFs(const std::string& key_file, PlainFiles plain);

// RemoteFlagValues: the values of the flags of the remote tier.
//
// Plain data.
struct RemoteFlagValues {
  std::string url;  // empty: no remote tier
  std::string endpoint;
  std::string region = "us-east-1";
  std::string credentials_file;
  std::string key_file;
  std::string ca_file;
  bool plain = false;
  bool insecure = false;
  std::string index_url;  // empty: as `url`
  std::string index_credentials_file;
  double wait_ms = 50;
  double saved_ms_min = 500;
  double after_s = 30;
  size_t write_mib_s = 16;
  double ttl_h = 24;
  bool read_only = false;
};

}  // namespace cairn

#endif  // CAIRN_CMD_LIB_CACHE_FOLDER_H_
