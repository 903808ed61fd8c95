// PlacedMedium: a medium in a prompt, in its text and among its tokens.
//
//   text     … Look at <__media__0f…a1__>.
//   tokens   … |Look| at| <|vision_start|> rows … <|vision_end|> |.|
//                       ^ begin           ^ rows ^              ^ end
//
// Values; any thread.

#ifndef CAIRN_API_MEDIA_PLACED_MEDIUM_H_
#define CAIRN_API_MEDIA_PLACED_MEDIUM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "api/media/medium_preview.h"
#include "base/provenance.h"
#include "base/tokens.h"
#include "engine/engine.h"
#include "media/medium.h"
#include "sched/media/encoded_media.h"

namespace cairn {

struct PlacedMedium {
  // The tokens that stand for its marker in the text.
  size_t begin = 0;
  size_t end = 0;
  std::vector<TokenRange> rows = {};  // those of them that stand for rows, by piece
  std::shared_ptr<const Medium> medium = {};
  MediumPreview preview = {};
};

// Returns the medium that has the token at `position`; nullptr if none does.
const PlacedMedium* MediumWith(size_t position, const std::vector<PlacedMedium>& media);

// Returns the pieces of the media as the scheduler takes them, in order.
std::vector<PromptMedium> PiecesOf(const std::vector<PlacedMedium>& media);

// Returns the text of each token. The last token of a medium has its marker's, the others none. So
// a TokenMap has the marker's begin at the first token, and its end behind the last.
std::vector<std::string> TokenPieces(const Engine& engine, TokenSpan tokens,
                                     const std::vector<PlacedMedium>& media);

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_PLACED_MEDIUM_H_
