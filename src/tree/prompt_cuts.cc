#include "tree/prompt_cuts.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {

bool CutRules::Starts(Token token) const {
  if (message_starts.size() == 1) return message_starts.front() == token;
  return std::find(message_starts.begin(), message_starts.end(), token) != message_starts.end();
}

size_t CutRules::GapAt(size_t position) const {
  if (gap_divisor == 0) return kBoundaryGapTokens;
  return std::clamp(position / gap_divisor, kBoundaryGapTokens, kBoundaryGapTokensMax);
}

PromptCuts::PromptCuts(const CutRules& rules, TokenSpan tokens) : PromptCuts(rules.grid_tokens, 0) {
  Extend(rules, tokens);
}

PromptCuts::PromptCuts(size_t grid_tokens, size_t tokens, std::vector<size_t> boundaries)
    : grid_tokens_(grid_tokens), tokens_(tokens), boundaries_(std::move(boundaries)) {
  CHECK(grid_tokens_ > 0);
}

void PromptCuts::AddBoundary(size_t position) {
  const size_t last = boundaries_.empty() ? 0 : boundaries_.back();
  if (position > last) boundaries_.push_back(position);
}

void PromptCuts::AddMediaBoundaries(TokenSpan tokens, size_t index) {
  if (!IsMediaToken(tokens[index])) return;
  if (!ContinuesMedium(tokens[index])) {
    media_.push_back(index);
    AddBoundary(index);
  }
  const bool last = index + 1 == tokens.size() || !ContinuesMedium(tokens[index + 1]);
  if (last) AddBoundary(index + 1);
}

bool PromptCuts::RealignsAt(size_t position) const {
  if (position % grid_tokens_ != 0 || boundaries_.empty()) return false;
  const size_t last = boundaries_.back();
  return last % grid_tokens_ != 0 && !IsMedium(last);
}

void PromptCuts::Extend(const CutRules& rules, TokenSpan tokens) {
  // Numbered tokens begin no message, and are of no medium.
  if (!tokens.empty() && IsNumbered(tokens.front())) {
    tokens_ = tokens.size();
    return;
  }
  for (size_t i = tokens_; i < tokens.size(); ++i) {
    AddMediaBoundaries(tokens, i);
    if (rules.message_starts.empty() && RealignsAt(i + 1)) AddBoundary(i + 1);
    if (!rules.Starts(tokens[i])) continue;
    const size_t last = boundaries_.empty() ? 0 : boundaries_.back();
    if (i + 1 - last >= rules.GapAt(i + 1)) boundaries_.push_back(i + 1);
  }
  tokens_ = tokens.size();
}

void PromptCuts::CutTo(size_t tokens) {
  tokens_ = tokens;
  while (!boundaries_.empty() && boundaries_.back() > tokens) boundaries_.pop_back();
  while (!media_.empty() && media_.back() >= tokens) media_.pop_back();
  if (off_grid_ > tokens) off_grid_ = 0;
}

bool PromptCuts::IsMedium(size_t position) const {
  return std::binary_search(media_.begin(), media_.end(), position);
}

size_t PromptCuts::BoundaryAtOrBefore(size_t position) const {
  const auto after = std::upper_bound(boundaries_.begin(), boundaries_.end(), position);
  return after == boundaries_.begin() ? 0 : *(after - 1);
}

size_t PromptCuts::BoundaryAfter(size_t position) const {
  const auto after = std::upper_bound(boundaries_.begin(), boundaries_.end(), position);
  return after == boundaries_.end() ? tokens_ : *after;
}

size_t PromptCuts::AtOrBefore(size_t position) const {
  if (position == off_grid_) return position;
  const size_t begin = BoundaryAtOrBefore(position);
  if (IsMedium(begin)) return begin;
  return begin + (position - begin) / grid_tokens_ * grid_tokens_;
}

size_t PromptCuts::After(size_t position) const {
  if (position >= tokens_) return tokens_;
  const size_t boundary = BoundaryAfter(position);
  if (IsMedium(BoundaryAtOrBefore(position))) return boundary;
  return std::min(AtOrBefore(position) + grid_tokens_, boundary);
}

size_t PromptCuts::MediumAfter(size_t position) const {
  const auto after = std::upper_bound(media_.begin(), media_.end(), position);
  return after == media_.end() ? tokens_ : *after;
}

size_t PromptCuts::FirstAfterAnswer(size_t answer_end, size_t tokens_min) const {
  if (answer_end >= tokens_ || Has(answer_end)) return answer_end;
  return std::min(After(answer_end + std::max<size_t>(tokens_min, 1) - 1), MediumAfter(answer_end));
}

size_t PromptCuts::ForCheckpoint(size_t position) const {
  return std::binary_search(boundaries_.begin(), boundaries_.end(), position + 1)
             ? position + 1
             : AtOrBefore(position);
}

size_t PromptCuts::CleanAfter(size_t clean_before, const TokenRange& chunk) const {
  const auto [begin, end] = chunk;
  // A chunk keeps the sequence clean only if it begins where the clean part ends.
  if (clean_before < begin) return clean_before;
  CHECK(clean_before == begin);
  if (!Has(begin) || BoundaryAfter(begin) < end) return begin;
  if (IsMedium(begin)) return end;
  // The tokens after the last full step are those of a cold run if they end at a boundary and are a
  // chunk of their own.
  if (BoundaryAtOrBefore(end) == end && end - begin <= grid_tokens_) return end;
  return begin + (end - begin) / grid_tokens_ * grid_tokens_;
}

}  // namespace cairn
