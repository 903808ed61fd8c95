#include "fleet/remote/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "store/object.h"

namespace cairn {
namespace {

constexpr size_t kNonceBytes = 12;

void Do(int result) {
  CHECK(result == 1);
}

constexpr std::array<uint8_t, 8> kMagic = {0x89, 'C', 'A', 'I', 'R', 'N', 'S', '\n'};
constexpr uint32_t kFormat = 1;
constexpr size_t kSaltBytes = FrameCipher::kSaltBytes;
constexpr size_t kSaltAt = 48;
constexpr size_t kTagBytes = FrameCipher::kTagBytes;
constexpr uint64_t kFileBytesMax = uint64_t{1} << 41;

struct Header {
  uint64_t key_id = 0;
  uint64_t file_bytes = 0;
  uint64_t front_bytes = 0;
  std::array<uint8_t, kSaltBytes> salt = {};
};

void WriteHeader(const Header& header, uint8_t* to) {
  std::copy(kMagic.begin(), kMagic.end(), to);
  WriteNumber(kFormat, 4, to + 8);
  WriteNumber(kSealFrameBytes, 4, to + 12);
  WriteNumber(header.key_id, 8, to + 16);
  WriteNumber(header.file_bytes, 8, to + 24);
  WriteNumber(header.front_bytes, 8, to + 32);
  WriteNumber(0, 8, to + 40);
  std::copy(header.salt.begin(), header.salt.end(), to + kSaltAt);
}

tl::unexpected<Error> Corrupt(std::string why) {
  return Fail(ErrorCode::kCorrupt, std::move(why));
}

Result<Header> ReadHeader(ByteSpan sealed) {
  if (sealed.size() < kSealHeaderBytes ||
      !std::equal(kMagic.begin(), kMagic.end(), sealed.begin())) {
    return Corrupt("the object is not sealed");
  }
  if (NumberIn(&sealed[8], 4) > kFormat) {
    return Fail(ErrorCode::kUnsupported, "a newer cairn sealed the object");
  }
  Header header;
  header.key_id = NumberIn(&sealed[16], 8);
  header.file_bytes = NumberIn(&sealed[24], 8);
  header.front_bytes = NumberIn(&sealed[32], 8);
  std::copy_n(&sealed[kSaltAt], kSaltBytes, header.salt.begin());
  const bool good = NumberIn(&sealed[8], 4) == kFormat &&
                    NumberIn(&sealed[12], 4) == kSealFrameBytes && NumberIn(&sealed[40], 8) == 0 &&
                    header.front_bytes > 0 && header.front_bytes <= header.file_bytes &&
                    header.front_bytes <= kFrontBytesMax && header.file_bytes <= kFileBytesMax;
  if (!good) return Corrupt("the header of the seal is wrong");
  return header;
}

size_t NextFrame(size_t at, size_t file_bytes, size_t front_bytes) {
  return at == 0 ? front_bytes : std::min(kSealFrameBytes, file_bytes - at);
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

uint64_t SealedBytes(uint64_t file_bytes, uint64_t front_bytes) {
  const uint64_t rest = file_bytes - front_bytes;
  const uint64_t frames = 1 + (rest + kSealFrameBytes - 1) / kSealFrameBytes;
  return kSealHeaderBytes + file_bytes + frames * kTagBytes;
}

Bytes Seal(const RemoteKeys& keys, std::string_view path, Bytes file, size_t front_bytes) {
  if (!keys.seals()) return file;
  CHECK(front_bytes > 0 && front_bytes <= file.size());
  const RemoteKey& key = keys.keys().front();
  Header header;
  header.key_id = key.id;
  header.file_bytes = file.size();
  header.front_bytes = front_bytes;
  FrameCipher::MakeSalt(header.salt.data());
  Bytes sealed(SealedBytes(file.size(), front_bytes));
  WriteHeader(header, sealed.data());
  FrameCipher cipher(key, ByteSpan(sealed).first(kSealHeaderBytes), header.salt, path, true);
  uint8_t* to = sealed.data() + kSealHeaderBytes;
  uint64_t number = 0;
  for (size_t at = 0; at < file.size();) {
    const size_t size = NextFrame(at, file.size(), front_bytes);
    const FrameCipher::Place place = {number++, at + size == file.size()};
    cipher.Encrypt(place, ByteSpan(file).subspan(at, size), to, to + size);
    to += size + kTagBytes;
    at += size;
  }
  return sealed;
}

Result<Bytes> Unseal(const RemoteKeys& keys, std::string_view path, Bytes sealed) {
  if (!keys.seals()) return sealed;
  const auto header = ReadHeader(sealed);
  if (!header) return tl::unexpected(header.error());
  if (sealed.size() != SealedBytes(header->file_bytes, header->front_bytes)) {
    return Corrupt("the sealed object has " + std::to_string(sealed.size()) + " bytes; by its " +
                   "header it has " +
                   std::to_string(SealedBytes(header->file_bytes, header->front_bytes)));
  }
  const RemoteKey* const key = keys.Find(header->key_id);
  if (key == nullptr) return Corrupt("the object is sealed with a key that is not in the key file");
  // The header is overwritten by the front.
  const Bytes header_bytes(sealed.begin(), sealed.begin() + kSealHeaderBytes);
  FrameCipher cipher(*key, header_bytes, header->salt, path, false);
  // Room for the largest frame; a small file is not worth 4 MiB of zeros.
  Bytes opened(std::min<uint64_t>(header->file_bytes,
                                  std::max<uint64_t>(header->front_bytes, kSealFrameBytes)));
  size_t from = kSealHeaderBytes;
  uint64_t number = 0;
  for (size_t at = 0; at < header->file_bytes;) {
    const size_t size = NextFrame(at, header->file_bytes, header->front_bytes);
    const FrameCipher::Place place = {number++, at + size == header->file_bytes};
    const bool good = cipher.Decrypt(place, ByteSpan(sealed).subspan(from, size),
                                     &sealed[from + size], opened.data());
    if (!good) return Corrupt("the seal is broken at byte " + std::to_string(at));
    std::memcpy(&sealed[at], opened.data(), size);
    from += size + kTagBytes;
    at += size;
  }
  sealed.resize(header->file_bytes);
  return sealed;
}

Result<uint64_t> BytesToFrontEnd(const RemoteKeys& keys, ByteSpan begin) {
  if (!keys.seals()) {
    const auto front_bytes = FrontBytes(begin);
    if (!front_bytes) return tl::unexpected(front_bytes.error());
    return *front_bytes;
  }
  const auto header = ReadHeader(begin);
  if (!header) return tl::unexpected(header.error());
  return SealedBytes(header->front_bytes, header->front_bytes);
}

Result<Bytes> UnsealFront(const RemoteKeys& keys, std::string_view path, ByteSpan begin) {
  if (!keys.seals()) {
    const auto front_bytes = FrontBytes(begin);
    if (!front_bytes) return tl::unexpected(front_bytes.error());
    if (*front_bytes > begin.size()) return Corrupt("the object ends in its front");
    return Bytes(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(*front_bytes));
  }
  const auto header = ReadHeader(begin);
  if (!header) return tl::unexpected(header.error());
  const size_t size = header->front_bytes;
  if (begin.size() < kSealHeaderBytes + size + kTagBytes) {
    return Corrupt("the object ends in its front");
  }
  const RemoteKey* const key = keys.Find(header->key_id);
  if (key == nullptr) return Corrupt("the object is sealed with a key that is not in the key file");
  FrameCipher cipher(*key, begin.first(kSealHeaderBytes), header->salt, path, false);
  Bytes front(size);
  const bool good =
      cipher.Decrypt({0, size == header->file_bytes}, begin.subspan(kSealHeaderBytes, size),
                     &begin[kSealHeaderBytes + size], front.data());
  if (!good) return Corrupt("the seal is broken in the front");
  return front;
}

}  // namespace cairn
