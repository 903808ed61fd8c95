#include "media/child_media_decoder.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "media/decode_exchange.h"
#include "media/decode_messages.h"
#include "media/spawned_program.h"

namespace cairn {
namespace {

std::string The(const Medium& medium) {
  return "the " + std::string(MediumKindName(medium.kind));
}

std::string SecondsText(std::chrono::milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

ChildMediaDecoder::ChildMediaDecoder(ChildMediaDecoderOptions options)
    : options_(std::move(options)) {
  CHECK(!options_.argv.empty());
  CHECK(options_.children_max > 0);
}

Result<DecodedMedium> ChildMediaDecoder::Decode(const Medium& medium) {
  const auto size = CheckFile(medium);
  if (!size) return tl::unexpected(size.error());
  if (!TakePlace()) {
    return Fail(ErrorCode::kUnavailable,
                "too many images and recordings are being decoded; try again later");
  }
  Result<DecodedMedium> decoded = DecodeInChild(medium, *size);
  LeavePlace();
  return decoded;
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

Result<DecodedMedium> ChildMediaDecoder::DecodeInChild(const Medium& medium,
                                                       const std::optional<ImageSize>& size) {
  const auto deadline = std::chrono::steady_clock::now() + options_.decode_time_max;
  auto child = SpawnedProgram::Start(options_.argv);
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
  Result<DecodedMedium> decoded = exchange.Run((*child)->socket(), deadline);
  const std::string end = (*child)->End();
  if (decoded) return decoded;
  const Error& error = decoded.error();
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

bool ChildMediaDecoder::TakePlace() {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool left = place_left_.wait_for(lock, options_.wait_time_max,
                                         [this] { return children_ < options_.children_max; });
  if (left) ++children_;
  return left;
}

void ChildMediaDecoder::LeavePlace() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    --children_;
  }
  place_left_.notify_one();
}

}  // namespace cairn
