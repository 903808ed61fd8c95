#include "media/medium.h"

#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kMarkerBegin = "<__media__";
constexpr std::string_view kMarkerEnd = "__>";

Bits128 ContentHash(MediumKind kind, ByteSpan file) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  const auto first = static_cast<unsigned char>(kind);
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  CHECK(context != nullptr);
  const bool hashed = EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1 &&
                      EVP_DigestUpdate(context, &first, 1) == 1 &&
                      EVP_DigestUpdate(context, file.data(), file.size()) == 1 &&
                      EVP_DigestFinal_ex(context, digest.data(), nullptr) == 1;
  EVP_MD_CTX_free(context);
  CHECK(hashed);
  Bits128 content;
  std::memcpy(&content.high, digest.data(), sizeof(content.high));
  std::memcpy(&content.low, digest.data() + sizeof(content.high), sizeof(content.low));
  return content;
}

}  // namespace

std::string_view MediumKindName(MediumKind kind) {
  return kind == MediumKind::kImage ? "image" : "audio";
}

MediumPtr MakeMedium(MediumKind kind, Bytes file, std::string place, std::function<bool()> gone) {
  const Bits128 content = ContentHash(kind, file);
  return std::make_shared<const Medium>(
      Medium{kind, std::move(file), content, std::move(place), std::move(gone)});
}

std::string MarkerOf(const Medium& medium) {
  std::string marker(kMarkerBegin);
  marker += HexText(medium.content.high) + HexText(medium.content.low);
  marker += kMarkerEnd;
  return marker;
}

void AppendMarker(MediumPtr medium, std::string* text, MarkedMedia* media) {
  const size_t begin = text->size();
  *text += MarkerOf(*medium);
  media->push_back({begin, text->size(), std::move(medium)});
}

size_t MarkerBytes(const MarkedMedia& media) {
  size_t bytes = 0;
  for (const MarkedMedium& marked : media) bytes += marked.end - marked.begin;
  return bytes;
}

std::string WithNextMediumMarkers(std::string_view text, const MarkedMedia& media) {
  std::string changed;
  size_t at = 0;
  for (const MarkedMedium& marked : media) {
    changed += text.substr(at, marked.begin - at);
    changed += kNextMediumMarker;
    at = marked.end;
  }
  changed += text.substr(at);
  return changed;
}

}  // namespace cairn
