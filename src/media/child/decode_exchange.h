// DecodeExchange: one request to a child process and its reply, over a socket that does not block.
// It believes nothing: a reply is accepted only if its sizes are within the limits, all of it
// arrives, and nothing follows.

#ifndef CAIRN_MEDIA_CHILD_DECODE_EXCHANGE_H_
#define CAIRN_MEDIA_CHILD_DECODE_EXCHANGE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "media/decode_messages.h"
#include "media/image_size.h"
#include "media/medium.h"

namespace cairn {

// Not thread-safe. The file outlives it.
class DecodeExchange {
 public:
  // `size`: of an image, as its header declares it.
  DecodeExchange(const DecodeRequest& request, ByteSpan file, std::optional<ImageSize> size);

  // Returns kTimedOut at the deadline, kCancelled once `gone`, which is asked now and then, is true
  // (empty: it never is), kCorrupt with the reason if the child ends early or sends
  // what it may not, kUnavailable if there is no memory, and kInvalidArgument with the child's own
  // words if it refuses the file.
  Result<DecodedMedium> Run(int socket, std::chrono::steady_clock::time_point deadline,
                            const std::function<bool()>& gone = {});

 private:
  enum class Progress { kGoingOn, kComplete };

  Status Send(int socket);
  Result<Progress> Receive(int socket);
  // Takes received bytes; returns how many it has taken. kCorrupt if they may not be there.
  Result<size_t> Take(ByteSpan bytes);
  Status TakeReply();
  Status CheckImageReply() const;
  Status CheckAudioReply() const;
  Result<DecodedMedium> Finish();
  bool has_reply() const { return reply_bytes_ == sizeof(DecodeReply); }
  bool complete() const { return has_reply() && payload_bytes_ == reply_.payload_bytes; }

  const DecodeRequest request_;
  const ByteSpan file_;
  const std::optional<ImageSize> size_;
  size_t sent_ = 0;  // bytes of the request and the file
  DecodeReply reply_;
  size_t reply_bytes_ = 0;    // received
  size_t payload_bytes_ = 0;  // received
  std::string error_text_;
  DecodedMedium medium_;
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_CHILD_DECODE_EXCHANGE_H_
