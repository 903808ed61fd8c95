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
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "media/child/spawned_program.h"
#include "media/decode_messages.h"
#include "media/medium.h"

namespace cairn {

// DecodePlaces: the places for decoding children. Who finds none free waits; a place that becomes
// free goes to the owner with the fewest children, then to the one that was served least recently,
// and among the calls of one owner to the first. So an owner with many slow files makes another
// wait for the end of one child, and not of all of its own. Who is not wanted any more leaves the
// line.
//
// Thread-safe.
class DecodePlaces {
 public:
  // A place that is taken, until it is destroyed. The places outlive it.
  class Place {
   public:
    Place(DecodePlaces* places, uint64_t owner) : places_(places), owner_(owner) {}
    ~Place() { places_->Leave(owner_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    DecodePlaces* const places_;
    const uint64_t owner_;
  };

  // REQUIRES: `places_max` is not 0.
  explicit DecodePlaces(size_t places_max);

  // Waits for a place. Returns nullptr if there was none for `wait_max`, or once `gone`, which is
  // asked now and then, is true. Empty: it never is.
  std::unique_ptr<Place> Take(uint64_t owner, std::chrono::milliseconds wait_max,
                              const std::function<bool()>& gone = {});
  size_t waiting() const;

 private:
  struct Waiter {
    uint64_t owner = 0;
  };

  void Leave(uint64_t owner);
  // Waits for the turn of `own`. Returns false if it did not come.
  bool AwaitTurn(const Waiter& own, std::chrono::milliseconds wait_max,
                 const std::function<bool()>& gone) REQUIRES(mutex_);
  // Returns whose turn it is. REQUIRES: somebody waits.
  const Waiter* Next() const REQUIRES(mutex_);

  const size_t places_max_;
  mutable Mutex mutex_;
  CondVar changed_;
  size_t taken_ GUARDED_BY(mutex_) = 0;
  uint64_t served_ GUARDED_BY(mutex_) = 0;  // calls that got a place
  std::list<Waiter> waiters_ GUARDED_BY(mutex_);
  std::map<uint64_t, size_t> children_ GUARDED_BY(mutex_);  // of the owners that have some
  // The number of an owner's last call that got a place.
  std::map<uint64_t, uint64_t> served_last_ GUARDED_BY(mutex_);
};

// KeptMediaDecoder: decodes each medium once, though a request needs its pixels twice: first for
// the number of its tokens, then, when its turn comes, for its rows.
//
//   connection thread   DecodeFor ──> child process ──> pixels, a copy is kept
//   encoding thread     Decode    <──────────────────── takes the copy; decodes what is not there
//
// Media are told apart by Medium::content. Copies are kept within a budget, the newest in any case
// that fits alone; one that is never taken goes when newer ones need its room.
//
// Threads: any, concurrently.
class KeptMediaDecoder final : public MediaDecoder {
 public:
  explicit KeptMediaDecoder(std::unique_ptr<MediaDecoder> decoder,
                            size_t bytes_max = size_t{32} << 20U)
      : decoder_(std::move(decoder)), bytes_max_(bytes_max) {}

  Result<DecodedMedium> Decode(const Medium& medium) override;
  Result<DecodedMedium> DecodeFor(uint64_t owner, const Medium& medium) override;

  // Bytes of pixels and samples that are kept.
  size_t kept_bytes() const;

 private:
  struct Kept {
    Bits128 content;
    DecodedMedium decoded;
    size_t bytes = 0;
  };

  // Takes the copy of the medium with this content away, if there is one.
  std::optional<DecodedMedium> Take(const Bits128& content) REQUIRES(mutex_);
  void Keep(const Medium& medium, const DecodedMedium& decoded);

  const std::unique_ptr<MediaDecoder> decoder_;
  const size_t bytes_max_;
  mutable Mutex mutex_;
  std::list<Kept> kept_ GUARDED_BY(mutex_);  // newest first
  size_t kept_bytes_ GUARDED_BY(mutex_) = 0;
};

struct ChildMediaDecoderOptions {
  // The child's program and arguments: {OwnProgram(), "decode-media"}.
  std::vector<std::string> argv;
  MediaLimits limits;
  uint32_t sample_rate = 0;  // of the recordings that are returned; 0: recordings are refused
  std::chrono::milliseconds decode_time_max{10'000};  // of one child; then it is killed
  // At a time; further calls wait for their turn (media/child/child_media_decoder.h).
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
