// EncodedMedia: the rows of media, so that each is encoded once. Encoding takes seconds on a CPU,
// so it has a thread of its own; the context thread goes on with other requests meanwhile.
//
//   context thread                              encoding thread
//   Want(image)  ──>  | queue |  ──>  read its rows from disk,
//   Get(piece)   <──  | rows  |  <──  or decode the file and encode it
//
// Rows are kept per namespace, within a budget of bytes; those that were used last stay. They are
// also saved to disk, if there is a disk tier. A medium whose attention KV or state is in the
// prefix cache needs no rows.
//
// Threads: the context thread; `stats` from any thread.

#ifndef CAIRN_SCHED_MEDIA_ENCODED_MEDIA_H_
#define CAIRN_SCHED_MEDIA_ENCODED_MEDIA_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/result.h"
#include "cache/segment_index.h"
#include "media/decoded_medium.h"
#include "media/media_encoder.h"
#include "media/medium.h"
#include "sched/media/media_rows_format.h"
#include "sched/media/saved_media.h"

namespace cairn {

// A medium, or a piece of one, in a prompt.
struct PromptMedium {
  size_t begin = 0;  // the position of its first row
  size_t piece = 0;  // among the pieces that the medium is encoded into
  std::shared_ptr<const Medium> medium;
};

struct EncodedMediaStats {
  uint64_t encoded = 0;  // media
  uint64_t failed = 0;
  uint64_t loaded = 0;  // media whose rows were read from disk instead
  double encode_ms = 0;
  size_t bytes = 0;  // of the rows held
};

class EncodedMedia {
 public:
  struct Options {
    size_t bytes_max = size_t{256} << 20;
    std::function<void()> on_encoded;  // called by the encoding thread; may be empty
    SavedMedia* saved = nullptr;       // outlives this object; may be null
  };

  // All must outlive this object. The encoder is used by this object's thread only, but for Layout.
  EncodedMedia(MediaDecoder* decoder, MediaEncoder* encoder, const Clock* clock, Options options);
  // Waits for the medium that is being encoded.
  ~EncodedMedia();
  EncodedMedia(const EncodedMedia&) = delete;
  EncodedMedia& operator=(const EncodedMedia&) = delete;

  // Begins to encode the medium, unless its rows are at hand.
  void Want(NamespaceId name_space, const std::shared_ptr<const Medium>& medium);
  // Returns the rows of a piece; nullptr while they are being encoded, which this call begins if
  // need be. An error is returned once; the next call tries again.
  Result<std::shared_ptr<const EncodedPiece>> Get(NamespaceId name_space,
                                                  const PromptMedium& piece);
  EncodedMediaStats stats() const;

 private:
  struct Entry {
    NamespaceId name_space = 0;
    Bits128 content;
    std::shared_ptr<const Medium> medium;         // until it is encoded
    std::optional<Result<EncodedPieces>> result;  // nullopt: waiting, or being encoded
    size_t bytes = 0;
    uint64_t used_tick = 0;
  };

  // The next functions REQUIRE that mutex_ is held.
  Entry* Find(NamespaceId name_space, const Medium& medium);
  Entry* FindWaiting();
  void EvictOver();

  void Run();
  // Encodes the entry's medium, or reads its rows. Takes the lock after that.
  void DoWork(Entry* entry, std::unique_lock<std::mutex>* lock);
  std::optional<EncodedPieces> Load(NamespaceId name_space, const Medium& medium);
  Result<EncodedPieces> Encode(const Medium& medium);
  void Save(NamespaceId name_space, const Medium& medium, const EncodedPieces& pieces,
            double encode_ms);

  MediaDecoder* const decoder_;
  MediaEncoder* const encoder_;
  const Clock* const clock_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<std::unique_ptr<Entry>> entries_;  // in the order in which they were wanted
  EncodedMediaStats stats_;
  uint64_t tick_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all others
};

}  // namespace cairn

#endif  // CAIRN_SCHED_MEDIA_ENCODED_MEDIA_H_
