#include "media/decode/decode_child.h"

#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/allocate.h"
#include "base/bytes.h"
#include "base/result.h"
#include "media/decode/audio_file.h"
#include "media/decode/confine_process.h"
#include "media/decode/image_file.h"
#include "media/decode_messages.h"

namespace cairn {
namespace {

constexpr uint64_t kMemoryAtLeast = uint64_t{64} << 20U;
// stb_image holds a PNG image of 16-bit channels and transparency up to three times at once, with 8
// bytes a pixel. Progressive JPEG images take 15, the others less.
constexpr uint64_t kMemoryPerPixel = 24;
// While the samples grow by doubling they are held twice, of which one is twice as large.
constexpr uint64_t kMemoryPerSample = 3 * sizeof(float);

bool ReadAll(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

bool WriteAll(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

template <typename T>
ByteSpan BytesOfStruct(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

bool WriteReply(const Result<DecodedMedium>& medium) {
  DecodeReply reply;
  ByteSpan payload;
  if (!medium) {
    payload = BytesOf(medium.error().message);
    payload = payload.first(std::min(payload.size(), kDecodeErrorBytesMax));
  } else if (medium->kind == MediumKind::kImage) {
    reply.width = medium->width;
    reply.height = medium->height;
    payload = medium->rgb;
  } else {
    payload = {reinterpret_cast<const uint8_t*>(medium->samples.data()),
               medium->samples.size() * sizeof(float)};
  }
  reply.outcome = medium ? DecodeOutcome::kDecoded : DecodeOutcome::kInvalid;
  reply.payload_bytes = payload.size();
  return WriteAll(BytesOfStruct(reply)) && WriteAll(payload);
}

bool Confine(const DecodeRequest& request, uint64_t decoded_bytes) {
  return ConfineProcess({.memory_bytes = kMemoryAtLeast + request.file_bytes + decoded_bytes,
                         .cpu_seconds = request.cpu_seconds_max});
}

// Confined by the size of this image, or, for a recording, by the limits. Nothing if that fails.
std::optional<Result<DecodedMedium>> Decode(const DecodeRequest& request, ByteSpan file) {
  if (request.kind == MediumKind::kAudio) {
    const uint64_t samples_max = SamplesMax(request.limits, request.sample_rate);
    if (!Confine(request, samples_max * kMemoryPerSample)) return std::nullopt;
    return DecodeAudioFile(file, request.limits, request.sample_rate);
  }
  const Result<ImageSize> size = CheckImageSize(file, request.limits);
  if (!size) return tl::unexpected(size.error());
  const uint64_t pixels = uint64_t{size->width} * size->height;
  if (!Confine(request, pixels * kMemoryPerPixel)) return std::nullopt;
  return DecodeImageFile(file, *size);
}

bool Answer() {
  DecodeRequest request;
  if (!ReadAll({reinterpret_cast<uint8_t*>(&request), sizeof(request)})) return false;
  if (request.magic != kDecodeRequestMagic || request.file_bytes > request.limits.file_bytes_max) {
    return false;
  }
  Bytes file;
  if (!TryResize(&file, request.file_bytes) || !ReadAll(file)) return false;
  const auto medium = Decode(request, file);
  return medium && WriteReply(*medium);
}

}  // namespace

void RunDecodeChild() {
  // A server that is killed leaves no child behind.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  _exit(Answer() ? 0 : 1);
}

}  // namespace cairn
