// ChildMediaDecoder: decodes the files of clients in child processes, one a file, so that a decoder
// that crashes, hangs, or takes all memory costs an error and nothing else.
//
//   Decode ── file bytes, format, size: checked here ──> refused, or
//          ── spawn ──> `cairn decode-media`: reads the file, drops its privileges, decodes
//          <── pixels or samples ── checked here: size, count, end
//
// A medium whose client has left (Medium::gone) is not decoded: it leaves the line of those that
// wait, and its child is killed.
//
// Messages: media/decode_messages.h. The child's side: media/decode/decode_child.h.

#ifndef CAIRN_MEDIA_CHILD_CHILD_MEDIA_DECODER_H_
#define CAIRN_MEDIA_CHILD_CHILD_MEDIA_DECODER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "media/child/decode_places.h"
#include "media/child/ready_program.h"
#include "media/child/spawned_program.h"
#include "media/decoded_medium.h"
#include "media/media_limits.h"
#include "media/medium.h"

namespace cairn {

struct ChildMediaDecoderOptions {
  // The child's program and arguments: {OwnProgram(), "decode-media"}.
  std::vector<std::string> argv;
  MediaLimits limits;
  uint32_t sample_rate = 0;  // of the recordings that are returned; 0: recordings are refused
  std::chrono::milliseconds decode_time_max{10'000};  // of one child; then it is killed
  // At a time; further calls wait for their turn (media/child/decode_places.h).
  size_t children_max = 2;
  std::chrono::milliseconds wait_time_max{30'000};
  // A child that waits for the next file is kept started.
  bool keeps_one_ready = false;
  LogSink log;  // gets the reasons that are not for clients; may be empty
};

// Any thread, concurrently. A call returns only when its child has ended.
class ChildMediaDecoder final : public MediaDecoder {
 public:
  // REQUIRES: `options.argv` is not empty, and `options.children_max` is not 0.
  explicit ChildMediaDecoder(ChildMediaDecoderOptions options);

  // kInvalidArgument also if the child crashes, takes too long, or answers nonsense; kUnavailable
  // if no child can be started or all are busy for too long, or if there is no memory; kCancelled
  // if the client has left. Decode is for the server itself, an owner like the others.
  Result<DecodedMedium> Decode(const Medium& medium) override;
  Result<DecodedMedium> DecodeFor(uint64_t owner, const Medium& medium) override;

 private:
  // Returns the size that an image declares; nullopt for a recording.
  Result<std::optional<ImageSize>> CheckFile(const Medium& medium) const;
  Result<std::unique_ptr<SpawnedProgram>> StartChild();
  Result<DecodedMedium> DecodeInChild(const Medium& medium, const std::optional<ImageSize>& size);

  const ChildMediaDecoderOptions options_;
  DecodePlaces places_;
  const std::unique_ptr<ReadyProgram> ready_;  // null: each child is started when it is needed
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_CHILD_CHILD_MEDIA_DECODER_H_
