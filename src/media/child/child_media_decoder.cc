#include "media/child/child_media_decoder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "media/child/decode_exchange.h"
#include "media/decode_messages.h"

namespace cairn {
namespace {

// The owner of what no key asks for now.
constexpr uint64_t kServer = UINT64_MAX;

std::string The(const Medium& medium) {
  return "the " + std::string(MediumKindName(medium.kind));
}

bool IsGone(const Medium& medium) {
  return medium.gone && medium.gone();
}

tl::unexpected<Error> ClientLeft(const Medium& medium) {
  return Fail(ErrorCode::kCancelled,
              The(medium) + " was not decoded: its client left, or the server is stopping");
}

std::string SecondsText(std::chrono::milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

ChildMediaDecoder::ChildMediaDecoder(ChildMediaDecoderOptions options)
    : options_(std::move(options)),
      places_(options_.children_max),
      ready_(options_.keeps_one_ready ? std::make_unique<ReadyProgram>(options_.argv) : nullptr) {
  CHECK(!options_.argv.empty());
}

Result<DecodedMedium> ChildMediaDecoder::Decode(const Medium& medium) {
  return DecodeFor(kServer, medium);
}

Result<DecodedMedium> ChildMediaDecoder::DecodeFor(uint64_t owner, const Medium& medium) {
  const auto size = CheckFile(medium);
  if (!size) return tl::unexpected(size.error());
  if (IsGone(medium)) return ClientLeft(medium);
  const auto place = places_.Take(owner, options_.wait_time_max, medium.gone);
  // With a place too: many may have left while they stood in line.
  if (IsGone(medium)) return ClientLeft(medium);
  if (place == nullptr) {
    return Fail(ErrorCode::kUnavailable,
                "too many images and recordings are being decoded; try again later");
  }
  return DecodeInChild(medium, *size);
}

Result<std::optional<ImageSize>> ChildMediaDecoder::CheckFile(const Medium& medium) const {
  if (medium.file.size() > options_.limits.file_bytes_max) {
    return Fail(ErrorCode::kInvalidArgument,
                The(medium) + " has " + std::to_string(medium.file.size()) +
                    " bytes; the limit is " + std::to_string(options_.limits.file_bytes_max));
  }
  if (medium.kind == MediumKind::kAudio) {
    if (options_.sample_rate > 0) return std::nullopt;
    return Fail(ErrorCode::kInvalidArgument, "the model takes no audio");
  }
  auto size = CheckImageSize(medium.file, options_.limits);
  if (!size) return tl::unexpected(size.error());
  return *size;
}

Result<std::unique_ptr<SpawnedProgram>> ChildMediaDecoder::StartChild() {
  return ready_ == nullptr ? SpawnedProgram::Start(options_.argv) : ready_->Take();
}

Result<DecodedMedium> ChildMediaDecoder::DecodeInChild(const Medium& medium,
                                                       const std::optional<ImageSize>& size) {
  const auto deadline = std::chrono::steady_clock::now() + options_.decode_time_max;
  auto child = StartChild();
  if (!child) {
    if (options_.log) options_.log(LogLevel::kError, child.error().message);
    return Fail(ErrorCode::kUnavailable, The(medium) + " cannot be decoded now");
  }
  DecodeRequest request;
  request.kind = medium.kind;
  request.sample_rate = options_.sample_rate;
  request.cpu_seconds_max = static_cast<uint32_t>(
      std::chrono::ceil<std::chrono::seconds>(options_.decode_time_max).count());
  request.file_bytes = medium.file.size();
  request.limits = options_.limits;
  DecodeExchange exchange(request, medium.file, size);
  Result<DecodedMedium> decoded = exchange.Run((*child)->socket(), deadline, medium.gone);
  const std::string end = (*child)->End();
  if (decoded) return decoded;
  const Error& error = decoded.error();
  if (error.code == ErrorCode::kCancelled) return ClientLeft(medium);
  if (error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnavailable) {
    return decoded;
  }
  if (options_.log) {
    options_.log(LogLevel::kWarning, The(medium) + " at " + medium.place + " was not decoded: " +
                                         error.message + (end.empty() ? "" : "; " + end));
  }
  const std::string reason =
      error.code == ErrorCode::kTimedOut
          ? " cannot be decoded within " + SecondsText(options_.decode_time_max)
          : " cannot be decoded";
  return Fail(ErrorCode::kInvalidArgument, The(medium) + reason);
}

}  // namespace cairn
