#include "fleet/remote/remote_names.h"

#include <openssl/hmac.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr size_t kSecretCharactersMin = 32;
constexpr size_t kKeysMax = 2;
constexpr size_t kIdDigits = 32;
constexpr size_t kNameSpaceDigits = 16;

uint64_t NumberAt(const SecretBytes& bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value = value << 8 | bytes[at + i];
  return value;
}

RemoteKey KeyFrom(std::string_view secret) {
  RemoteKey key;
  SecretBytes root = {};
  // The text itself may be longer or shorter than a key, so a hash of it is the key.
  root = KeyedHash(root, secret);
  key.seal = KeyedHash(root, "cairn remote 1: seal");
  key.names = KeyedHash(root, "cairn remote 1: names");
  key.id = NumberAt(KeyedHash(root, "cairn remote 1: id"), 0);
  return key;
}

std::string HashedText(uint64_t high, uint64_t low) {
  return ToText(ObjectName{high, low});
}

bool IsHexadecimal(std::string_view text, size_t digits) {
  if (text.size() != digits) return false;
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

SecretBytes KeyedHash(const SecretBytes& key, std::string_view text) {
  SecretBytes hash = {};
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data(), &size);
  CHECK(made != nullptr && size == hash.size());
  return hash;
}

Result<RemoteKeys> RemoteKeys::Parse(std::string_view text) {
  RemoteKeys keys;
  keys.seals_ = true;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (line.size() < kSecretCharactersMin) {
      return Fail(ErrorCode::kInvalidArgument,
                  "line " + std::to_string(number) + " has " + std::to_string(line.size()) +
                      " characters; a key has at least " + std::to_string(kSecretCharactersMin) +
                      ": `openssl rand -hex 32` makes one");
    }
    keys.keys_.push_back(KeyFrom(line));
  }
  if (keys.keys_.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "there is no key in it: `openssl rand -hex 32` makes one");
  }
  if (keys.keys_.size() > kKeysMax) {
    return Fail(ErrorCode::kInvalidArgument,
                "there are " + std::to_string(keys.keys_.size()) +
                    " keys in it; two are enough to change from one to the next");
  }
  return keys;
}

const RemoteKey* RemoteKeys::Find(uint64_t id) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [id](const RemoteKey& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

RemoteKeys RemoteKeys::Plain() {
  RemoteKeys keys;
  keys.keys_.push_back(KeyFrom(""));
  return keys;
}

RemoteNames::RemoteNames(const RemoteKey& key, const Fingerprint& fingerprint, uint64_t name_space)
    : fingerprint_(ToText(fingerprint)) {
  secret_ = KeyedHash(key.names, fingerprint_ + "/" + std::to_string(name_space));
  name_space_ = HashedText(0, NumberAt(secret_, 0)).substr(kNameSpaceDigits);
}

RemoteId RemoteNames::IdOf(const ObjectName& name) const {
  if (name.empty()) return {};
  const SecretBytes hash = KeyedHash(secret_, "object " + ToText(name));
  return {NumberAt(hash, 0), NumberAt(hash, 8)};
}

std::string RemoteNames::PathOf(const RemoteId& id) const {
  const std::string digits = ToText(id);
  return std::string(kRemoteRoot) + fingerprint_ + "/" + name_space_ + "/" + digits.substr(0, 2) +
         "/" + digits;
}

std::string RemoteNames::IdentityPath() const {
  return std::string(kRemoteRoot) + fingerprint_ + "/identity.txt";
}

std::string RemoteNames::IndexKeyOf(const BlockHash& block) const {
  return "c1:" + fingerprint_ + ":" + name_space_ + ":" + ToText(block);
}

std::vector<BlockHash> RemoteNames::Blocks(TokenSpan tokens) const {
  std::vector<BlockHash> blocks;
  const SecretBytes seed = KeyedHash(secret_, "blocks");
  // The seed, then the hash so far, stand before the tokens of each block.
  Bytes block(seed.size() + kRemoteBlockTokens * sizeof(Token));
  std::memcpy(block.data(), seed.data(), seed.size());
  for (size_t at = 0; at + kRemoteBlockTokens <= tokens.size(); at += kRemoteBlockTokens) {
    std::memcpy(&block[seed.size()], &tokens[at], kRemoteBlockTokens * sizeof(Token));
    const Bits128 hash = Hash128(block.data(), block.size());
    std::memcpy(&block[seed.size() / 2], &hash, sizeof(hash));
    blocks.push_back({hash.high, hash.low});
  }
  return blocks;
}

std::optional<ParsedRemotePath> ParseRemotePath(std::string_view path) {
  if (!path.starts_with(kRemoteRoot)) return std::nullopt;
  path.remove_prefix(kRemoteRoot.size());
  std::array<std::string_view, 4> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t slash = path.find('/');
    if ((slash == std::string_view::npos) != (i + 1 == parts.size())) return std::nullopt;
    parts[i] = path.substr(0, slash);
    path.remove_prefix(std::min(path.size(), parts[i].size() + 1));
  }
  const bool good = IsHexadecimal(parts[0], kIdDigits) &&
                    IsHexadecimal(parts[1], kNameSpaceDigits) && IsHexadecimal(parts[2], 2) &&
                    IsHexadecimal(parts[3], kIdDigits) && parts[3].starts_with(parts[2]);
  if (!good) return std::nullopt;
  const ObjectName name = ParseObjectName(std::string(parts[3]));
  return ParsedRemotePath{std::string(parts[0]), std::string(parts[1]), {name.high, name.low}};
}

std::vector<size_t> BlocksOf(const ObjectHeader& header) {
  std::vector<size_t> blocks;
  const size_t count = header.tokens.size() / kRemoteBlockTokens;
  if (count == 0) return blocks;
  const bool segment = header.kind == ObjectKind::kSegment;
  const size_t first = segment ? header.begin / kRemoteBlockTokens : count - 1;
  for (size_t block = std::min(first, count - 1); block < count; ++block) blocks.push_back(block);
  return blocks;
}

std::string ToText(const RemoteId& id) {
  return HashedText(id.high, id.low);
}

}  // namespace cairn
