#include "remote/seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "store/object.h"

namespace cairn {
namespace {

constexpr std::array<uint8_t, 8> kMagic = {0x89, 'C', 'A', 'I', 'R', 'N', 'S', '\n'};
constexpr uint32_t kFormat = 1;
constexpr size_t kSaltBytes = 32;
constexpr size_t kTagBytes = 16;
constexpr size_t kNonceBytes = 12;
constexpr uint64_t kFileBytesMax = uint64_t{1} << 41;

struct Header {
  uint64_t key_id = 0;
  uint64_t file_bytes = 0;
  uint64_t front_bytes = 0;
  std::array<uint8_t, kSaltBytes> salt = {};
};

void WriteNumber(uint64_t value, size_t bytes, uint8_t* to) {
  for (size_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t NumberIn(const uint8_t* from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

void WriteHeader(const Header& header, uint8_t* to) {
  std::copy(kMagic.begin(), kMagic.end(), to);
  WriteNumber(kFormat, 4, to + 8);
  WriteNumber(kSealFrameBytes, 4, to + 12);
  WriteNumber(header.key_id, 8, to + 16);
  WriteNumber(header.file_bytes, 8, to + 24);
  WriteNumber(header.front_bytes, 8, to + 32);
  WriteNumber(0, 8, to + 40);
  std::copy(header.salt.begin(), header.salt.end(), to + 48);
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
  std::copy_n(&sealed[48], kSaltBytes, header.salt.begin());
  const bool good = NumberIn(&sealed[8], 4) == kFormat &&
                    NumberIn(&sealed[12], 4) == kSealFrameBytes && NumberIn(&sealed[40], 8) == 0 &&
                    header.front_bytes > 0 && header.front_bytes <= header.file_bytes &&
                    header.front_bytes <= kFrontBytesMax && header.file_bytes <= kFileBytesMax;
  if (!good) return Corrupt("the header of the seal is wrong");
  return header;
}

// Seals and opens the frames of one object, in order.
class FrameCipher {
 public:
  // `header` is the sealed header's bytes.
  FrameCipher(const RemoteKey& key, ByteSpan header, std::string_view path, bool encrypts)
      : context_(EVP_CIPHER_CTX_new()), encrypts_(encrypts), header_(header), path_(path) {
    CHECK(context_ != nullptr);
    const SecretBytes one = KeyedHash(key.seal, TextView(header.subspan(48, kSaltBytes)));
    Do(EVP_CipherInit_ex(context_.get(), EVP_aes_256_gcm(), nullptr, one.data(), nullptr,
                         encrypts ? 1 : 0));
  }

  // Writes the frame to `to`, which may not overlap it, and its tag.
  void Encrypt(ByteSpan frame, bool last, uint8_t* to, uint8_t* tag) {
    Begin(last);
    Update(frame, to);
    int size = 0;
    Do(EVP_CipherFinal_ex(context_.get(), to, &size));
    Do(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag));
  }
  // Returns false if the tag is wrong; then `to` is of no use.
  bool Decrypt(ByteSpan frame, const uint8_t* tag, bool last, uint8_t* to) {
    Begin(last);
    Update(frame, to);
    std::array<uint8_t, kTagBytes> copy = {};
    std::copy_n(tag, kTagBytes, copy.begin());
    Do(EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, copy.data()));
    int size = 0;
    return EVP_CipherFinal_ex(context_.get(), to, &size) == 1;
  }

 private:
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };

  static void Do(int result) { CHECK(result == 1); }

  void Begin(bool last) {
    std::array<uint8_t, kNonceBytes> nonce = {};
    WriteNumber(frames_++, 8, nonce.data());
    nonce.back() = last ? 1 : 0;
    Do(EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data(),
                         encrypts_ ? 1 : 0));
    Update(header_, nullptr);
    Update(BytesOf(path_), nullptr);
  }
  void Update(ByteSpan bytes, uint8_t* to) {
    int size = 0;
    Do(EVP_CipherUpdate(context_.get(), to, &size, bytes.data(), static_cast<int>(bytes.size())));
  }

  const std::unique_ptr<EVP_CIPHER_CTX, Free> context_;
  const bool encrypts_;
  const ByteSpan header_;
  const std::string_view path_;
  uint64_t frames_ = 0;
};

size_t NextFrame(size_t at, size_t file_bytes, size_t front_bytes) {
  return at == 0 ? front_bytes : std::min(kSealFrameBytes, file_bytes - at);
}

const RemoteKey* FindKey(const RemoteKeys& keys, uint64_t id) {
  for (const RemoteKey& key : keys.keys()) {
    if (key.id == id) return &key;
  }
  return nullptr;
}

}  // namespace

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
  CHECK(RAND_bytes(header.salt.data(), kSaltBytes) == 1);
  Bytes sealed(SealedBytes(file.size(), front_bytes));
  WriteHeader(header, sealed.data());
  FrameCipher cipher(key, ByteSpan(sealed).first(kSealHeaderBytes), path, true);
  uint8_t* to = sealed.data() + kSealHeaderBytes;
  for (size_t at = 0; at < file.size();) {
    const size_t size = NextFrame(at, file.size(), front_bytes);
    cipher.Encrypt(ByteSpan(file).subspan(at, size), at + size == file.size(), to, to + size);
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
  const RemoteKey* const key = FindKey(keys, header->key_id);
  if (key == nullptr) return Corrupt("the object is sealed with a key that is not in the key file");
  // The header is overwritten by the front.
  const Bytes header_bytes(sealed.begin(), sealed.begin() + kSealHeaderBytes);
  FrameCipher cipher(*key, header_bytes, path, false);
  // Room for the largest frame; a small file is not worth 4 MiB of zeros.
  Bytes opened(std::min<uint64_t>(header->file_bytes,
                                  std::max<uint64_t>(header->front_bytes, kSealFrameBytes)));
  size_t from = kSealHeaderBytes;
  for (size_t at = 0; at < header->file_bytes;) {
    const size_t size = NextFrame(at, header->file_bytes, header->front_bytes);
    const bool good = cipher.Decrypt(ByteSpan(sealed).subspan(from, size), &sealed[from + size],
                                     at + size == header->file_bytes, opened.data());
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
  const RemoteKey* const key = FindKey(keys, header->key_id);
  if (key == nullptr) return Corrupt("the object is sealed with a key that is not in the key file");
  FrameCipher cipher(*key, begin.first(kSealHeaderBytes), path, false);
  Bytes front(size);
  const bool good =
      cipher.Decrypt(begin.subspan(kSealHeaderBytes, size), &begin[kSealHeaderBytes + size],
                     size == header->file_bytes, front.data());
  if (!good) return Corrupt("the seal is broken in the front");
  return front;
}

}  // namespace cairn
