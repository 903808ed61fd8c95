// The names of everything that leaves this machine for the remote store, and the keys behind them.
//
//   objects  v1/<fingerprint>/<ns>/<2 digits>/<id>        a sealed file (fleet/remote/seal.h)
//   index    c1:<fingerprint>:<ns>:<block>                what stands on a prefix of 512 k tokens
//
// `ns`, `id` and `block` are keyed hashes, so that a name tells nobody without the key which prompt
// or which client it belongs to. With --remote-plain the key is empty, and they hide nothing.
//
// Values and pure functions; any thread.

#ifndef CAIRN_FLEET_REMOTE_REMOTE_NAMES_H_
#define CAIRN_FLEET_REMOTE_REMOTE_NAMES_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tokens.h"
#include "store/object.h"

namespace cairn {

// The tokens of a block, by whose hashes prompts are looked up.
inline constexpr size_t kRemoteBlockTokens = 512;

// The keyed hash of an object's name.
struct RemoteId {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const RemoteId&, const RemoteId&) = default;
  bool empty() const { return high == 0 && low == 0; }
};

// The keyed hash of a prompt's first k blocks.
using BlockHash = RemoteId;

using SecretBytes = std::array<uint8_t, 32>;

// One line of --remote-key-file or --cache-key-file.
struct RemoteKey {
  SecretBytes seal = {};   // seals the objects
  SecretBytes names = {};  // makes the names
  uint64_t id = 0;         // tells the keys apart; tells nothing about them
};

// The keys of a server: the first seals and names what it writes; all of them open.
class RemoteKeys {
 public:
  // `text` is the content of a key file: one key a line, at most two; "#" begins a comment. Returns
  // kInvalidArgument if a key is short, or their number is wrong. The message contains none of it.
  static Result<RemoteKeys> Parse(std::string_view text);
  // Objects are not sealed.
  static RemoteKeys Plain();

  bool seals() const { return seals_; }
  const std::vector<RemoteKey>& keys() const { return keys_; }
  // Returns the key of that number; null if there is none.
  const RemoteKey* Find(uint64_t id) const;

 private:
  bool seals_ = false;
  std::vector<RemoteKey> keys_;  // at least one
};

// HMAC-SHA256.
SecretBytes KeyedHash(const SecretBytes& key, std::string_view text);

// The names of one namespace of one model under one key.
class RemoteNames {
 public:
  // `name_space` as in ObjectHeader.
  RemoteNames(const RemoteKey& key, const Fingerprint& fingerprint, uint64_t name_space);

  RemoteId IdOf(const ObjectName& name) const;
  std::string PathOf(const RemoteId& id) const;
  // Returns the hashes of the blocks that end in `tokens`, the shallowest first: number k is that
  // of the first (k + 1) * kRemoteBlockTokens tokens.
  std::vector<BlockHash> Blocks(TokenSpan tokens) const;
  std::string IndexKeyOf(const BlockHash& block) const;
  // The path of the object that tells people which model this is.
  std::string IdentityPath() const;

 private:
  SecretBytes secret_ = {};
  std::string fingerprint_;
  std::string name_space_;
};

inline constexpr std::string_view kRemoteRoot = "v1/";

// The part of an object's path that its name determines.
struct ParsedRemotePath {
  std::string fingerprint;
  std::string name_space;
  RemoteId id;
};
// Returns nullopt if it is not the path of an object.
std::optional<ParsedRemotePath> ParseRemotePath(std::string_view path);

// Returns the blocks, as indices into RemoteNames::Blocks, under which the index lists an object:
// for a segment all that end in it, and for every object the last that ends within its tokens.
// Empty if it has no whole block before its end.
std::vector<size_t> BlocksOf(const ObjectHeader& header);

std::string ToText(const RemoteId& id);

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_REMOTE_NAMES_H_
