// EncodedMedia: the rows of media, so that each is encoded once. Encoding takes seconds on a CPU,
// so it has a thread of its own; the context thread goes on with other requests meanwhile.
//
//   context thread                                 encoding thread
//   SetWanted(images)  ──>  | wanted |  ──>  takes the first without rows: reads them from disk,
//   Get(piece)         <──  | rows   |  <──  or decodes the file and encodes it
//
// There is no queue: SetWanted replaces what was wanted before, so the media of a request that has
// ended are not encoded, and the order is that of the requests at that moment. Nor are those whose
// client has left (Medium::gone), though the request may not have ended yet.
//
// Rows are kept per namespace, within a budget of bytes; those that are wanted stay, and of the
// others those that were used last. They are also saved to disk, if there is a disk tier. A medium
// whose attention KV or state is in the prefix cache needs no rows.
//
// Threads: the context thread; `stats` from any thread.

#ifndef CAIRN_SCHED_MEDIA_ENCODED_MEDIA_H_
#define CAIRN_SCHED_MEDIA_ENCODED_MEDIA_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cache/objects/segment_index.h"
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

// A medium whose rows a request needs.
struct WantedMedium {
  NamespaceId name_space = 0;
  std::shared_ptr<const Medium> medium;
  // The request can do nothing before it has the rows. The rows of other media are encoded ahead,
  // as long as those that are wanted take up less than half of the budget.
  bool is_due = false;
};

// How long media of a namespace were encoded.
struct EncodeTime {
  NamespaceId name_space = 0;
  double ms = 0;
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

  // Replaces the media that are to be encoded, first in line first. Forgets why others failed.
  void SetWanted(const std::vector<WantedMedium>& wanted);
  // Returns the rows of a piece; nullptr while they are not at hand. The error of a medium is
  // returned once; the medium is tried again when it is wanted again. kUnavailable: there was no
  // memory for it.
  Result<std::shared_ptr<const EncodedPiece>> Get(NamespaceId name_space,
                                                  const PromptMedium& piece);
  // Returns the time of what was encoded since the last call.
  std::vector<EncodeTime> TakeTimes();
  EncodedMediaStats stats() const;

 private:
  struct Key {
    NamespaceId name_space = 0;
    uint64_t high = 0;
    uint64_t low = 0;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    Result<EncodedPieces> result;
    size_t bytes = 0;
    uint64_t used_tick = 0;
  };

  static Key KeyOf(NamespaceId name_space, const Medium& medium);
  // Returns the medium to encode next; nullptr if there is none.
  const WantedMedium* NextWanted() const REQUIRES(mutex_);
  size_t WantedBytes() const REQUIRES(mutex_);
  void Unwant(const Key& key) REQUIRES(mutex_);
  void EvictOver() REQUIRES(mutex_);

  void Run();
  // Encodes the medium, or reads its rows. The result is kept; if there is no memory for it or for
  // the reason why it failed, that is noted.
  void DoWork(const WantedMedium& wanted) REQUIRES(mutex_);
  struct Work {
    Result<EncodedPieces> result;
    bool is_loaded = false;  // read from disk instead of encoded
    double ms = 0;
  };
  // Releases the lock meanwhile.
  Work EncodeOrLoad(const WantedMedium& wanted) REQUIRES(mutex_);
  void Keep(const Key& key, Result<EncodedPieces> result) REQUIRES(mutex_);
  std::optional<EncodedPieces> Load(NamespaceId name_space, const Medium& medium);
  Result<EncodedPieces> Encode(const Medium& medium);
  void Save(NamespaceId name_space, const Medium& medium, const EncodedPieces& pieces,
            double encode_ms);

  MediaDecoder* const decoder_;
  MediaEncoder* const encoder_;
  const Clock* const clock_;
  const Options options_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<WantedMedium> wanted_ GUARDED_BY(mutex_);  // first in line first
  std::set<Key> wanted_keys_ GUARDED_BY(mutex_);         // the same media
  // Media that are encoded, and wanted ones that failed.
  std::map<Key, Entry> entries_ GUARDED_BY(mutex_);
  // Wanted media for which there was no memory. SetWanted makes room for all of them, so that this
  // can always be noted. Else they would be tried again and again.
  std::vector<Key> without_memory_ GUARDED_BY(mutex_);
  std::vector<EncodeTime> times_ GUARDED_BY(mutex_);  // since the last TakeTimes
  EncodedMediaStats stats_ GUARDED_BY(mutex_);
  uint64_t tick_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all others
};

// Encodes what a decoder returned for `medium`. kCancelled if its client has left; else errors are
// those of the decoder and the encoder.
Result<EncodedPieces> EncodeDecoded(MediaEncoder* encoder, const Result<DecodedMedium>& decoded,
                                    const Medium& medium);

}  // namespace cairn

#endif  // CAIRN_SCHED_MEDIA_ENCODED_MEDIA_H_
