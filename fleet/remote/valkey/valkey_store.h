// A Valkey or Redis server as the index, and as the store of the bytes.
//
//   c1:<…>:<block>       hash: id -> entry                            the index
//   c1o:<path>           "<bytes> <upload>"                           an object is there
//   c1c:<path>:<upload>:<n>   1 MiB each                              its bytes
//
// Bytes are cut into chunks, so that the server's one thread answers others in between, and the
// chunks come before the key that makes them an object: who is killed between leaves chunks that
// nobody sees and that expire. If the server evicts a chunk, the object is gone.
//
// Threads: any.

#ifndef CAIRN_FLEET_REMOTE_VALKEY_VALKEY_STORE_H_
#define CAIRN_FLEET_REMOTE_VALKEY_VALKEY_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "fleet/remote/remote_objects.h"
#include "fleet/remote/valkey/valkey_client.h"

namespace cairn {

// `client` outlives the index.
std::unique_ptr<RemoteIndex> MakeValkeyIndex(ValkeyClient* client);
// `client` outlives the store. Objects that nobody reads for `ttl_s` expire.
std::unique_ptr<RemoteObjects> MakeValkeyObjects(ValkeyClient* client, int64_t ttl_s);

inline constexpr size_t kValkeyChunkBytes = size_t{1} << 20;

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_VALKEY_VALKEY_STORE_H_
