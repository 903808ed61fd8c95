// ValkeyClient: connections to a Valkey or Redis server, on hiredis. A batch of commands is sent in
// one go and answered in one go. No hiredis type leaves valkey_client.cc.
//
// The server is not trusted: replies nest a few levels deep only, the bytes and values of a batch's
// replies are limited, and memory grows with what arrives, whatever lengths are announced.
//
// Threads: any; each call uses a connection of its own, and idle ones are kept.

#ifndef CAIRN_FLEET_REMOTE_VALKEY_VALKEY_CLIENT_H_
#define CAIRN_FLEET_REMOTE_VALKEY_VALKEY_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "fleet/remote/remote_objects.h"

namespace cairn {

struct ValkeyOptions {
  std::string host;
  uint16_t port = 6379;
  bool tls = false;
  std::string ca_file;   // empty: the system's authorities
  std::string user;      // empty: the default user
  std::string password;  // empty: none
};

// Parses a credentials file: "USER:PASSWORD", or a password alone. kInvalidArgument, without a word
// of it in the message.
Status ParseValkeyCredentials(std::string_view text, ValkeyOptions* options);

struct ValkeyReply {
  enum class Type { kNil, kText, kNumber, kList, kError };

  Type type = Type::kNil;
  Bytes text;
  int64_t number = 0;
  std::vector<ValkeyReply> list;
};

class ValkeyClient {
 public:
  // The arguments of one command. The bytes must stay until Run returns.
  using Command = std::vector<ByteSpan>;

  virtual ~ValkeyClient() = default;
  // Does not connect yet. kInvalidArgument if the file of authorities cannot be used.
  static Result<std::unique_ptr<ValkeyClient>> Make(const ValkeyOptions& options);

  // Returns one reply for each command. Errors as in fleet/remote/remote_objects.h; an error reply
  // of any command is an error of all. Some of the commands may have been done. kUnavailable also
  // for replies that no such server sends.
  virtual Result<std::vector<ValkeyReply>> Run(const std::vector<Command>& commands,
                                               Deadline deadline) = 0;
  // As RemoteObjects::Cancel.
  virtual void Cancel() = 0;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_VALKEY_VALKEY_CLIENT_H_
