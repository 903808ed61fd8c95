#include "download/web/content_sum.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "base/check.h"

namespace cairn {

ContentSum ParseContentSum(std::string_view digits) {
  if (digits.size() != 40 && digits.size() != 64) return {};
  ContentSum sum;
  for (const char c : digits) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_digit = (lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'f');
    if (!is_digit) return {};
    sum.digits += lower;
  }
  return sum;
}

class ContentHash::Impl {
 public:
  explicit Impl(const EVP_MD* kind) : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1);
  }
  void Add(const void* bytes, size_t size) {
    CHECK(EVP_DigestUpdate(context_.get(), bytes, size) == 1);
  }
  std::string Finish() {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    CHECK(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
    std::string digits;
    for (unsigned i = 0; i < size; ++i) {
      digits += kDigits[bytes[i] >> 4U];
      digits += kDigits[bytes[i] & 15U];
    }
    return digits;
  }

 private:
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

ContentHash::ContentHash(const ContentSum& like, uint64_t bytes)
    : impl_(std::make_unique<Impl>(like.digits.size() == 40 ? EVP_sha1() : EVP_sha256())) {
  if (like.digits.size() != 40) return;
  const std::string begin = "blob " + std::to_string(bytes);
  impl_->Add(begin.c_str(), begin.size() + 1);  // with the zero behind it
}

ContentHash::~ContentHash() = default;

void ContentHash::Add(ByteSpan bytes) {
  impl_->Add(bytes.data(), bytes.size());
}

std::string ContentHash::Finish() {
  return impl_->Finish();
}

Status AddFile(const std::string& path, uint64_t bytes, ContentHash* hash,
               const std::function<void(uint64_t)>& progress) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(ErrorCode::kNotFound, "\"" + path + "\" cannot be opened");
  std::vector<char> buffer(size_t{1} << 20U);
  for (uint64_t left = bytes; left > 0;) {
    const auto size = static_cast<std::streamsize>(std::min<uint64_t>(left, buffer.size()));
    if (!file.read(buffer.data(), size)) {
      return Fail(ErrorCode::kCorrupt, "\"" + path + "\" ends after " +
                                           std::to_string(bytes - left + file.gcount()) +
                                           " bytes; expected " + std::to_string(bytes));
    }
    hash->Add({reinterpret_cast<const uint8_t*>(buffer.data()), static_cast<size_t>(size)});
    left -= static_cast<uint64_t>(size);
    if (progress) progress(bytes - left);
  }
  return {};
}

}  // namespace cairn
