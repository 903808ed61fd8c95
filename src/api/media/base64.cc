#include "api/media/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <string>

namespace cairn {
namespace {

constexpr size_t kGroup = 4;       // characters
constexpr size_t kGroupBytes = 3;  // that they stand for
// OpenSSL counts in int, so long texts are decoded in parts.
constexpr size_t kPart = kGroup << 20U;

bool IsDigit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

size_t PaddingOf(std::string_view base64) {
  if (base64.ends_with("==")) return 2;
  return base64.ends_with('=') ? 1 : 0;
}

// OpenSSL's decoder passes over white space and takes some other texts, so the text is checked
// first.
Status Check(std::string_view base64) {
  const std::string_view digits = base64.substr(0, base64.size() - PaddingOf(base64));
  const auto* const wrong = std::find_if_not(digits.begin(), digits.end(), IsDigit);
  if (wrong != digits.end()) {
    return Fail(ErrorCode::kInvalidArgument,
                "has no base64 at byte " + std::to_string(wrong - digits.begin()) +
                    " (A-Z, a-z, 0-9, + and /, without spaces and line ends)");
  }
  if (base64.size() % kGroup != 0) {
    return Fail(ErrorCode::kInvalidArgument,
                "has " + std::to_string(base64.size()) +
                    " characters of base64, which is no multiple of 4: the padding with '=', or "
                    "the end, is missing");
  }
  return {};
}

}  // namespace

size_t DecodedBytes(std::string_view base64) {
  const size_t bytes = base64.size() / kGroup * kGroupBytes;
  return bytes - std::min(bytes, PaddingOf(base64));
}

std::string EncodeBase64(ByteSpan bytes) {
  constexpr size_t kPartBytes = kPart / kGroup * kGroupBytes;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += kPartBytes) {
    const ByteSpan part = bytes.subspan(at, std::min(kPartBytes, bytes.size() - at));
    const size_t begin = text.size();
    // OpenSSL also writes a zero behind the text.
    text.resize(begin + (part.size() + kGroupBytes - 1) / kGroupBytes * kGroup + 1);
    EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()) + begin, part.data(),
                    static_cast<int>(part.size()));
    text.pop_back();
  }
  return text;
}

Result<Bytes> DecodeBase64(std::string_view base64) {
  if (Status checked = Check(base64); !checked) return tl::unexpected(checked.error());
  Bytes bytes(base64.size() / kGroup * kGroupBytes);
  size_t end = 0;
  for (size_t at = 0; at < base64.size(); at += kPart) {
    const std::string_view part = base64.substr(at, kPart);
    const int decoded =
        EVP_DecodeBlock(bytes.data() + end, reinterpret_cast<const unsigned char*>(part.data()),
                        static_cast<int>(part.size()));
    if (decoded < 0) return Fail(ErrorCode::kInvalidArgument, "is not base64");
    end += static_cast<size_t>(decoded);
  }
  // OpenSSL writes zeros for the padding.
  bytes.resize(DecodedBytes(base64));
  return bytes;
}

}  // namespace cairn
