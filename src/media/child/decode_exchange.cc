#include "media/child/decode_exchange.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "media/medium.h"

namespace cairn {
namespace {

constexpr uint64_t kBytesPerPixel = 3;

using std::chrono::milliseconds;
using std::chrono::steady_clock;

tl::unexpected<Error> Nonsense(std::string what) {
  return Fail(ErrorCode::kCorrupt, std::move(what));
}

ByteSpan BytesOfRequest(const DecodeRequest& request) {
  return {reinterpret_cast<const uint8_t*>(&request), sizeof(request)};
}

bool WouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

// Rounded up, so that the last wait never ends before the deadline.
int NextWaitMs(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, kGoneLookInterval.count()));
}

// The child's words go to the client: printable ASCII only.
std::string Printable(std::string text) {
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

DecodeExchange::DecodeExchange(const DecodeRequest& request, ByteSpan file,
                               std::optional<ImageSize> size)
    : request_(request), file_(file), size_(size) {}

Result<DecodedMedium> DecodeExchange::Run(int socket, steady_clock::time_point deadline,
                                          const std::function<bool()>& gone) {
  const size_t to_send = sizeof(DecodeRequest) + file_.size();
  for (;;) {
    const bool sending = sent_ < to_send;
    pollfd waiting = {socket, static_cast<short>(sending ? POLLIN | POLLOUT : POLLIN), 0};
    const int ready = poll(&waiting, 1, NextWaitMs(deadline));
    if (ready < 0 && errno != EINTR) return Nonsense(std::string("poll: ") + strerror(errno));
    if (steady_clock::now() >= deadline) {
      return Fail(ErrorCode::kTimedOut, "the child did not end in time");
    }
    if (ready == 0 && gone && gone()) {
      return Fail(ErrorCode::kCancelled, "the client left while its file was decoded");
    }
    if (ready <= 0) continue;
    if (sending) {
      const Status sent = Send(socket);
      if (!sent) return tl::unexpected(sent.error());
    }
    const Result<Progress> received = Receive(socket);
    if (!received) return tl::unexpected(received.error());
    if (*received == Progress::kComplete) return Finish();
  }
}

// A child that refuses the file may end without reading all of it. Its reply is still there.
Status DecodeExchange::Send(int socket) {
  const ByteSpan request = BytesOfRequest(request_);
  const ByteSpan rest =
      sent_ < request.size() ? request.subspan(sent_) : file_.subspan(sent_ - request.size());
  const ssize_t count = send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
  if (count >= 0) {
    sent_ += static_cast<size_t>(count);
  } else if (errno == EPIPE || errno == ECONNRESET) {
    sent_ = request.size() + file_.size();
  } else if (!WouldBlock(errno)) {
    return Nonsense(std::string("send: ") + strerror(errno));
  }
  return {};
}

Result<DecodeExchange::Progress> DecodeExchange::Receive(int socket) {
  std::array<uint8_t, 1U << 16U> buffer;
  for (;;) {
    const ssize_t count = recv(socket, buffer.data(), buffer.size(), 0);
    if (count < 0 && WouldBlock(errno)) return Progress::kGoingOn;
    // ECONNRESET: it ended without reading all; earlier bytes were received before.
    if (count < 0 && errno != ECONNRESET) return Nonsense(std::string("recv: ") + strerror(errno));
    if (count <= 0) {
      if (complete()) return Progress::kComplete;
      return Nonsense("the child ended without a whole reply");
    }
    for (ByteSpan rest(buffer.data(), static_cast<size_t>(count)); !rest.empty();) {
      const Result<size_t> taken = Take(rest);
      if (!taken) return tl::unexpected(taken.error());
      rest = rest.subspan(*taken);
    }
  }
}

Result<size_t> DecodeExchange::Take(ByteSpan bytes) {
  if (!has_reply()) {
    const size_t count = std::min(bytes.size(), sizeof(reply_) - reply_bytes_);
    std::memcpy(reinterpret_cast<uint8_t*>(&reply_) + reply_bytes_, bytes.data(), count);
    reply_bytes_ += count;
    if (!has_reply()) return count;
    const Status taken = TakeReply();
    if (!taken) return tl::unexpected(taken.error());
    return count;
  }
  const size_t count = std::min<size_t>(bytes.size(), reply_.payload_bytes - payload_bytes_);
  if (count == 0) return Nonsense("the child sent more than it announced");
  uint8_t* to = nullptr;
  if (reply_.outcome == DecodeOutcome::kInvalid) {
    to = reinterpret_cast<uint8_t*>(error_text_.data());
  } else if (request_.kind == MediumKind::kImage) {
    to = medium_.rgb.data();
  } else {
    to = reinterpret_cast<uint8_t*>(medium_.samples.data());
  }
  std::memcpy(to + payload_bytes_, bytes.data(), count);
  payload_bytes_ += count;
  return count;
}

// Makes room for the payload once its size is known to be within the limits.
Status DecodeExchange::TakeReply() {
  if (reply_.magic != kDecodeReplyMagic) return Nonsense("the child's reply has no header");
  if (reply_.outcome == DecodeOutcome::kInvalid) {
    if (reply_.payload_bytes > kDecodeErrorBytesMax) return Nonsense("the error is too long");
    error_text_.resize(reply_.payload_bytes);
    return {};
  }
  if (reply_.outcome != DecodeOutcome::kDecoded) return Nonsense("the outcome is unknown");
  const bool image = request_.kind == MediumKind::kImage;
  Status valid = image ? CheckImageReply() : CheckAudioReply();
  if (!valid) return valid;
  medium_.kind = request_.kind;
  if (image) {
    medium_.width = reply_.width;
    medium_.height = reply_.height;
    return TryResize(&medium_.rgb, reply_.payload_bytes);
  }
  try {
    medium_.samples.resize(reply_.payload_bytes / sizeof(float));
  } catch (const std::bad_alloc&) {
    return tl::unexpected(NoMemoryError(reply_.payload_bytes));
  }
  return {};
}

Status DecodeExchange::CheckImageReply() const {
  const bool as_declared = reply_.width == size_->width && reply_.height == size_->height;
  const bool turned = reply_.width == size_->height && reply_.height == size_->width;
  if (!as_declared && !turned) return Nonsense("the image has another size than its file declares");
  if (reply_.payload_bytes != uint64_t{reply_.width} * reply_.height * kBytesPerPixel) {
    return Nonsense("the image has another number of pixels than its size");
  }
  return {};
}

Status DecodeExchange::CheckAudioReply() const {
  const uint64_t samples = reply_.payload_bytes / sizeof(float);
  if (samples == 0 || samples > SamplesMax(request_.limits, request_.sample_rate) ||
      reply_.payload_bytes % sizeof(float) != 0) {
    return Nonsense("the number of samples is not within the limits");
  }
  return {};
}

Result<DecodedMedium> DecodeExchange::Finish() {
  if (reply_.outcome == DecodeOutcome::kDecoded) {
    const bool valid = std::all_of(medium_.samples.begin(), medium_.samples.end(),
                                   [](float sample) { return sample >= -1.0F && sample <= 1.0F; });
    if (!valid) return Nonsense("a sample is not between -1 and 1");
    return std::move(medium_);
  }
  return Fail(ErrorCode::kInvalidArgument, Printable(error_text_));
}

}  // namespace cairn
