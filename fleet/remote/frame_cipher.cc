#include "fleet/remote/frame_cipher.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "base/check.h"

namespace cairn {
namespace {

constexpr size_t kNonceBytes = 12;

void Do(int result) {
  CHECK(result == 1);
}

}  // namespace

struct FrameCipher::Context {
  ~Context() { EVP_CIPHER_CTX_free(evp); }

  EVP_CIPHER_CTX* const evp = EVP_CIPHER_CTX_new();
};

FrameCipher::FrameCipher(const RemoteKey& key, ByteSpan header, ByteSpan salt,
                         std::string_view path, bool encrypts)
    : context_(std::make_unique<Context>()), encrypts_(encrypts), header_(header), path_(path) {
  CHECK(context_->evp != nullptr && salt.size() == kSaltBytes);
  const SecretBytes one = KeyedHash(key.seal, TextView(salt));
  Do(EVP_CipherInit_ex(context_->evp, EVP_aes_256_gcm(), nullptr, one.data(), nullptr,
                       encrypts ? 1 : 0));
}

FrameCipher::~FrameCipher() = default;

void FrameCipher::MakeSalt(uint8_t* to) {
  Do(RAND_bytes(to, static_cast<int>(kSaltBytes)));
}

void FrameCipher::Encrypt(const Place& place, ByteSpan frame, uint8_t* to, uint8_t* tag) {
  Begin(place);
  Update(frame, to);
  int size = 0;
  Do(EVP_CipherFinal_ex(context_->evp, to, &size));
  Do(EVP_CIPHER_CTX_ctrl(context_->evp, EVP_CTRL_GCM_GET_TAG, kTagBytes, tag));
}

bool FrameCipher::Decrypt(const Place& place, ByteSpan frame, const uint8_t* tag, uint8_t* to) {
  Begin(place);
  Update(frame, to);
  std::array<uint8_t, kTagBytes> copy = {};
  std::copy_n(tag, kTagBytes, copy.begin());
  Do(EVP_CIPHER_CTX_ctrl(context_->evp, EVP_CTRL_GCM_SET_TAG, kTagBytes, copy.data()));
  int size = 0;
  return EVP_CipherFinal_ex(context_->evp, to, &size) == 1;
}

void FrameCipher::Begin(const Place& place) {
  std::array<uint8_t, kNonceBytes> nonce = {};
  WriteNumber(place.number, 8, nonce.data());
  nonce.back() = place.last ? 1 : 0;
  Do(EVP_CipherInit_ex(context_->evp, nullptr, nullptr, nullptr, nonce.data(), encrypts_ ? 1 : 0));
  Update(header_, nullptr);
  Update(BytesOf(path_), nullptr);
}

void FrameCipher::Update(ByteSpan bytes, uint8_t* to) {
  int size = 0;
  Do(EVP_CipherUpdate(context_->evp, to, &size, bytes.data(), static_cast<int>(bytes.size())));
}

}  // namespace cairn
