#include "engine/llama/model/media_positions.h"

namespace cairn {

void MediaPositions::Set(SeqId seq, TokenSpan tokens) {
  media_.erase(seq);
  for (const MediumRange& medium : MediaIn(tokens)) Add(seq, medium);
}

void MediaPositions::Add(SeqId seq, const MediumRange& medium) {
  if (medium.positions != medium.end - medium.begin) media_[seq].push_back(medium);
}

void MediaPositions::CutTo(SeqId seq, size_t tokens) {
  const auto found = media_.find(seq);
  if (found == media_.end()) return;
  std::vector<MediumRange>& media = found->second;
  while (!media.empty() && media.back().begin >= tokens) media.pop_back();
  if (media.empty()) media_.erase(found);
}

void MediaPositions::Copy(SeqId from, SeqId to) {
  const auto found = media_.find(from);
  if (found == media_.end()) {
    media_.erase(to);
  } else {
    media_[to] = found->second;
  }
}

size_t MediaPositions::At(SeqId seq, size_t tokens) const {
  const auto found = media_.find(seq);
  if (found == media_.end()) return tokens;
  size_t position = tokens;
  for (const MediumRange& medium : found->second) {
    if (medium.end > tokens) break;
    position -= medium.end - medium.begin - medium.positions;
  }
  return position;
}

size_t MediaPositions::TokensAt(SeqId seq, size_t positions) const {
  const auto found = media_.find(seq);
  if (found == media_.end()) return positions;
  size_t shared = 0;  // tokens that have no position of their own
  for (const MediumRange& medium : found->second) {
    const size_t begin = medium.begin - shared;
    if (positions <= begin) break;
    // The last row's position may lie before the last one that the medium takes up.
    if (positions <= begin + medium.positions) return medium.end;
    shared += medium.end - medium.begin - medium.positions;
  }
  return positions + shared;
}

}  // namespace cairn
