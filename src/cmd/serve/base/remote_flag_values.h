// RemoteFlagValues: the values of the flags of the remote tier.
//
// Plain data.

#ifndef CAIRN_CMD_SERVE_BASE_REMOTE_FLAG_VALUES_H_
#define CAIRN_CMD_SERVE_BASE_REMOTE_FLAG_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace cairn {

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

#endif  // CAIRN_CMD_SERVE_BASE_REMOTE_FLAG_VALUES_H_
