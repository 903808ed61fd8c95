#include "api/media/media_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/media/base64.h"
#include "api/media/file_below.h"
#include "api/media/media_format.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kData = "data:";
constexpr std::string_view kBase64 = ";base64";
constexpr std::string_view kFile = "file:";

ApiError Refused(const std::string& place, const std::string& why) {
  ApiError error = FieldError(place, "");
  error.message = place + ": " + why;
  return error;
}

// "an image", "an audio file".
std::string OneOf(MediumKind kind) {
  return kind == MediumKind::kImage ? "an image" : "an audio file";
}

std::string DataUrlOf(MediumKind kind) {
  return std::string("a data URL, \"data:") +
         (kind == MediumKind::kImage ? "image/png" : "audio/wav") + ";base64,…\"";
}

std::string MiB(size_t bytes) {
  const size_t mib = bytes >> 20U;
  return mib > 0 ? std::to_string(mib) + " MiB" : std::to_string(bytes) + " bytes";
}

bool BeginsWith(std::string_view text, std::string_view beginning) {
  return SameIgnoringCase(text.substr(0, beginning.size()), beginning);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Replaces "%20" and the like by their bytes.
std::string WithoutEscapes(std::string_view url) {
  std::string text;
  for (size_t i = 0; i < url.size(); ++i) {
    const bool escape = url[i] == '%' && i + 2 < url.size() && HexDigit(url[i + 1]) >= 0 &&
                        HexDigit(url[i + 2]) >= 0;
    text += escape ? static_cast<char>(HexDigit(url[i + 1]) * 16 + HexDigit(url[i + 2])) : url[i];
    if (escape) i += 2;
  }
  return text;
}

// Returns the path of a file URL, with one, two or three slashes, or of a plain path.
std::string PathOf(const std::string& url) {
  if (!BeginsWith(url, kFile)) return url;
  std::string_view path = std::string_view(url).substr(kFile.size());
  if (path.starts_with("//")) path.remove_prefix(2);
  return WithoutEscapes(path);
}

bool HasOtherScheme(std::string_view url) {
  return url.find("://") != std::string_view::npos && !BeginsWith(url, kFile);
}

}  // namespace

ApiResult<void> MediaReader::Admit(MediumKind kind, const std::string& place) const {
  const bool image = kind == MediumKind::kImage;
  if (!(image ? rules_.takes_images : rules_.takes_audio)) {
    const std::string name = image ? "images" : "audio";
    const bool takes_other = image ? rules_.takes_audio : rules_.takes_images;
    return tl::unexpected(Refused(
        place, takes_other ? "the projector of this server takes no " + name +
                                 ": leave it out, or start the server with --mmproj FILE of one "
                                 "that does"
                           : "this server takes no " + name + ": start it with --mmproj FILE"));
  }
  return AdmitOneMore(place);
}

ApiResult<void> MediaReader::AdmitOneMore(const std::string& place) const {
  if (count_ < rules_.media_max) return {};
  return tl::unexpected(
      Refused(place, "a request may have " + std::to_string(rules_.media_max) +
                         " images and audio files, and this is one more: leave older ones out, or "
                         "raise --media-max"));
}

ApiResult<MediumPtr> MediaReader::ReadUrl(MediumKind kind, const std::string& url,
                                          const std::string& place) {
  ApiResult<Bytes> file;
  if (BeginsWith(url, kData)) {
    file = OfDataUrl(url, place);
  } else if (BeginsWith(url, "http://") || BeginsWith(url, "https://")) {
    file = Fetch(kind, url, place);
  } else if (HasOtherScheme(url)) {
    constexpr size_t kShownBytes = 16;
    const std::string scheme = url.substr(0, std::min(url.find("://"), kShownBytes));
    return tl::unexpected(Refused(
        place, "'" + scheme + "' is not a kind of URL that is read: send " + DataUrlOf(kind)));
  } else {
    file = OfFile(kind, url, place);
  }
  if (!file) return tl::unexpected(file.error());
  return Add(kind, *std::move(file), place);
}

ApiResult<MediumPtr> MediaReader::ReadBase64(MediumKind kind, std::string_view base64,
                                             const std::string& place) {
  auto file = Decode(base64, place);
  if (!file) return tl::unexpected(file.error());
  return Add(kind, *std::move(file), place);
}

ApiResult<MediumPtr> MediaReader::ReadBase64OfAnyKind(std::string_view base64,
                                                      const std::string& place) {
  if (!rules_.takes_images && !rules_.takes_audio) {
    return tl::unexpected(
        Refused(place, "this server takes no images and no audio: start it with --mmproj FILE"));
  }
  if (auto admitted = AdmitOneMore(place); !admitted) return tl::unexpected(admitted.error());
  auto file = Decode(base64, place);
  if (!file) return tl::unexpected(file.error());
  const auto format = FindMediaFormat(*file);
  if (!format) {
    return tl::unexpected(
        Refused(place, "its bytes are neither an image nor an audio file of a known format: send " +
                           std::string(FormatNames(MediumKind::kImage)) + ", or " +
                           std::string(FormatNames(MediumKind::kAudio))));
  }
  if (auto admitted = Admit(format->kind, place); !admitted) {
    return tl::unexpected(admitted.error());
  }
  return Add(format->kind, *std::move(file), place);
}

ApiResult<Bytes> MediaReader::Decode(std::string_view base64, const std::string& place) const {
  const size_t bytes = DecodedBytes(base64);
  if (bytes > rules_.file_bytes_max) {
    return tl::unexpected(TooLarge("has " + std::to_string(bytes) + " bytes", place));
  }
  auto decoded = DecodeBase64(base64);
  if (!decoded) {
    return tl::unexpected(Refused(
        place, "its data " + decoded.error().message + ": send the file's bytes as base64"));
  }
  return *std::move(decoded);
}

ApiResult<Bytes> MediaReader::OfDataUrl(std::string_view url, const std::string& place) const {
  const size_t comma = url.find(',');
  const std::string_view head = url.substr(0, comma);
  const bool encoded = head.size() >= kData.size() + kBase64.size() &&
                       SameIgnoringCase(head.substr(head.size() - kBase64.size()), kBase64);
  if (comma == std::string_view::npos || !encoded) {
    return tl::unexpected(
        Refused(place,
                "its data URL does not have the form \"data:TYPE;base64,DATA\": send the "
                "file's bytes as base64 behind \";base64,\""));
  }
  return Decode(url.substr(comma + 1), place);
}

ApiResult<Bytes> MediaReader::Fetch(MediumKind kind, const std::string& url,
                                    const std::string& place) const {
  if (!rules_.allow_url || !rules_.fetch) {
    return tl::unexpected(Refused(place, "this server fetches no URLs: send the file as " +
                                             DataUrlOf(kind) +
                                             ", or start the server with --allow-media-url"));
  }
  const size_t left = rules_.all_bytes_max - std::min(rules_.all_bytes_max, bytes_);
  auto file = rules_.fetch(url, std::min(rules_.file_bytes_max, left));
  if (!file) {
    return tl::unexpected(Refused(place, "the URL cannot be fetched: " + file.error().message +
                                             "; send the file as " + DataUrlOf(kind)));
  }
  return *std::move(file);
}

ApiResult<Bytes> MediaReader::OfFile(MediumKind kind, const std::string& url,
                                     const std::string& place) const {
  if (rules_.media_path.empty()) {
    return tl::unexpected(
        Refused(place,
                "neither a data URL nor an http URL, and this server reads no files of its own: "
                "send " +
                    DataUrlOf(kind) + ", or start the server with --media-path FOLDER"));
  }
  auto file = ReadFileBelow(rules_.media_path, PathOf(url), rules_.file_bytes_max);
  if (file) return *std::move(file);
  if (file.error().code == ErrorCode::kTooLong) {
    return tl::unexpected(TooLarge(file.error().message, place));
  }
  return tl::unexpected(
      Refused(place, file.error().message + ": name a file there, or send " + DataUrlOf(kind)));
}

ApiResult<MediumPtr> MediaReader::Add(MediumKind kind, Bytes file, const std::string& place) {
  if (file.size() > rules_.file_bytes_max) {
    return tl::unexpected(TooLarge("has " + std::to_string(file.size()) + " bytes", place));
  }
  const auto format = FindMediaFormat(file);
  if (!format) {
    return tl::unexpected(Refused(place, "its bytes are not " + OneOf(kind) +
                                             " of a known format: send " +
                                             std::string(FormatNames(kind))));
  }
  if (format->kind != kind) {
    return tl::unexpected(Refused(place, "the part is " + OneOf(kind) + ", but its bytes are " +
                                             OneOf(format->kind) + " (" +
                                             std::string(format->name) +
                                             "): send it as a part of "
                                             "its own kind"));
  }
  if (file.size() > rules_.all_bytes_max - std::min(rules_.all_bytes_max, bytes_)) {
    return tl::unexpected(Refused(place,
                                  "the images and audio files of this request have more "
                                  "than " +
                                      MiB(rules_.all_bytes_max) +
                                      " together: leave older ones out, or send smaller "
                                      "ones"));
  }
  ++count_;
  bytes_ += file.size();
  auto medium = MakeMedium(kind, std::move(file), place, rules_.gone);
  const std::pair<uint64_t, uint64_t> content = {medium->content.high, medium->content.low};
  return media_.try_emplace(content, std::move(medium)).first->second;
}

ApiError MediaReader::TooLarge(const std::string& found, const std::string& place) const {
  return Refused(place, found + ", and a file may have " + MiB(rules_.file_bytes_max) +
                            ": send a smaller one, or raise --media-file-mib");
}

}  // namespace cairn
