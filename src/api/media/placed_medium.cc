#include "api/media/placed_medium.h"

#include <algorithm>

namespace cairn {

const PlacedMedium* MediumWith(size_t position, const std::vector<PlacedMedium>& media) {
  const auto found = std::find_if(media.begin(), media.end(), [position](const PlacedMedium& it) {
    return it.begin <= position && position < it.end;
  });
  return found == media.end() ? nullptr : &*found;
}

std::vector<PromptMedium> PiecesOf(const std::vector<PlacedMedium>& media) {
  std::vector<PromptMedium> pieces;
  for (const PlacedMedium& medium : media) {
    for (size_t i = 0; i < medium.rows.size(); ++i) {
      pieces.push_back({medium.rows[i].begin, i, medium.medium});
    }
  }
  return pieces;
}

std::vector<std::string> TokenPieces(const Engine& engine, TokenSpan tokens,
                                     const std::vector<PlacedMedium>& media) {
  std::vector<std::string> pieces;
  pieces.reserve(tokens.size());
  auto medium = media.begin();
  while (pieces.size() < tokens.size()) {
    if (medium != media.end() && medium->begin == pieces.size()) {
      pieces.resize(medium->end - 1);
      pieces.push_back(MarkerOf(*medium->medium));
      ++medium;
    } else {
      pieces.push_back(engine.Piece(tokens[pieces.size()], true));
    }
  }
  return pieces;
}

}  // namespace cairn
