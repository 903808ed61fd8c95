// The flags of `cairn serve` for images and recordings.

#ifndef CAIRN_CMD_SERVE_MEDIA_MEDIA_FLAGS_H_
#define CAIRN_CMD_SERVE_MEDIA_MEDIA_FLAGS_H_

#include "api/media/media_rules.h"
#include "base/result.h"
#include "cmd/serve/base/serve_options.h"

namespace CLI {
class App;
}

namespace cairn {

void AddMediaFlags(CLI::App* serve, MediaOptions* options);

// kInvalidArgument if the flags do not fit one another.
Status CheckMediaFlags(const MediaOptions& options);

// Returns the rules of the flags. With a projector they take both images and recordings; whoever
// has loaded it narrows them to what it takes.
MediaRules MediaRulesOf(const MediaOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_MEDIA_MEDIA_FLAGS_H_
