// RemoteUrl: where a remote store is, as --remote and --remote-index name it.
//
//   valkey://HOST[:PORT]    plain       valkeys://HOST[:PORT]   TLS     (redis://, rediss:// too)
//   s3://BUCKET[/PREFIX]
//
// Values and pure functions, but for IsLoopbackHost; any thread.

#ifndef CAIRN_FLEET_REMOTE_REMOTE_URL_H_
#define CAIRN_FLEET_REMOTE_REMOTE_URL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

struct RemoteUrl {
  enum class Kind { kValkey, kS3 };

  Kind kind = Kind::kValkey;
  // Valkey:
  std::string host;  // without brackets
  uint16_t port = 6379;
  bool tls = false;
  // S3:
  std::string bucket;
  std::string prefix;  // empty, or ends in '/'
};

// kInvalidArgument if it is no such URL, or has a user or a password in it: those belong in a file.
// The message repeats neither.
Result<RemoteUrl> ParseRemoteUrl(std::string_view text);

// Whether all addresses of the host are this machine's own. False if it cannot be resolved.
bool IsLoopbackHost(const std::string& host);

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_REMOTE_URL_H_
