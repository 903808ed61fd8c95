// The flags of the remote tier, and the connections that they describe. `cairn serve` and `cairn
// cache` share them.

#ifndef CAIRN_CMD_SERVE_REMOTE_REMOTE_FLAGS_H_
#define CAIRN_CMD_SERVE_REMOTE_REMOTE_FLAGS_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "cmd/serve/base/remote_flag_values.h"
#include "fleet/remote/remote_index.h"
#include "fleet/remote/remote_names.h"
#include "fleet/remote/remote_objects.h"
#include "fleet/remote/valkey/valkey_client.h"

namespace CLI {
class App;
}

namespace cairn {

// Adds the flags that say where the store is and how it is protected.
void AddRemoteStoreFlags(CLI::App* command, RemoteFlagValues* values);
// Adds those that say what is fetched and uploaded.
void AddRemoteTierFlags(CLI::App* command, RemoteFlagValues* values);

// The stores of the flags. Nothing is connected before it is used.
struct RemoteStores {
  RemoteKeys keys = RemoteKeys::Plain();
  // For the log; without secrets.
  std::string place;
  std::unique_ptr<ValkeyClient> objects_client;  // each null if not needed
  std::unique_ptr<ValkeyClient> index_client;
  std::unique_ptr<RemoteObjects> objects;
  std::unique_ptr<RemoteIndex> index;
};

// Reads the files that the flags name. kInvalidArgument if the flags do not fit one another, or a
// file is not what it should be. The message says what to do and contains no secret.
Result<RemoteStores> OpenRemoteStores(const RemoteFlagValues& values);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_REMOTE_REMOTE_FLAGS_H_
