#include "fleet/events/pseudonymous_ids.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstring>

#include "base/check.h"

namespace cairn {
namespace {

constexpr std::string_view kPurpose = "cairn kv events 1";

}  // namespace

TokenIds PseudonymousIds(std::string_view secret) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  const unsigned char* const made =
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size(), digest.data(),
           &size);
  Bits128 key;
  CHECK(made != nullptr && size >= sizeof(key.low) + sizeof(key.high));
  std::memcpy(&key.low, digest.data(), sizeof(key.low));
  std::memcpy(&key.high, digest.data() + sizeof(key.low), sizeof(key.high));
  return TokenIds(key);
}

}  // namespace cairn
