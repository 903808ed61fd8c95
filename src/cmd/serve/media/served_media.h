// ServedMedia: the parts of a server that takes images or recordings: the decoder of files, the
// projector, the layouts of media in prompts, and their rows.
//
// Owned by the server's run. It outlives the scheduler and the chat service, and ends before the
// engine.

#ifndef CAIRN_CMD_SERVE_MEDIA_SERVED_MEDIA_H_
#define CAIRN_CMD_SERVE_MEDIA_SERVED_MEDIA_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "api/media/media_layouts.h"
#include "api/media/media_rules.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "cmd/serve/base/disk_cache.h"
#include "cmd/serve/base/serve_options.h"
#include "engine/llama/llama_engine.h"
#include "sched/media/encoded_media.h"
#include "sched/media/media_rows_format.h"
#include "sched/media/saved_media.h"

namespace CLI {
class App;
}

namespace cairn {

// The flags of `cairn serve` for images and recordings.

void AddMediaFlags(CLI::App* serve, MediaOptions* options);

// kInvalidArgument if the flags do not fit one another.
Status CheckMediaFlags(const MediaOptions& options);

// Returns the rules of the flags. With a projector they take both images and recordings; whoever
// has loaded it narrows them to what it takes.
MediaRules MediaRulesOf(const MediaOptions& options);

struct ServedMedia {
  MediaRules rules;
  std::unique_ptr<MediaDecoder> decoder;  // this and the next ones: null without a projector
  std::unique_ptr<MediaEncoder> encoder;  // any thread may encode
  std::unique_ptr<MediaLayouts> layouts;
  std::unique_ptr<SavedMedia> saved;   // null without a disk tier too
  std::unique_ptr<EncodedMedia> rows;  // see StartEncoding

  // The part of --cache-ram that rows take.
  size_t rows_bytes_max = 0;
};

// Loads the projector of the flags, if there is one. Errors name the flag.
Result<ServedMedia> LoadMedia(const ServeOptions& options, const LlamaOptions& llama,
                              const LlamaEngine& engine, LogSink log);

// Decodes a medium and encodes it, beside the thread that does so for prompts. `key`: whose it is.
// Errors as in MediaDecoder and MediaEncoder. REQUIRES: there is a projector. Any thread.
Result<EncodedPieces> EncodeNow(const ServedMedia& media, NamespaceId key, const Medium& medium);

// Starts the thread that encodes media, if there is a projector. Rows are saved to `disk`, if that
// is a disk tier; `disk` and `clock` outlive them. `on_encoded` is called by that thread.
void StartEncoding(const DiskCache& disk, const Clock* clock, std::function<void()> on_encoded,
                   ServedMedia* media);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MEDIA_SERVED_MEDIA_H_
