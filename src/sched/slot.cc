#include "sched/slot.h"

#include <algorithm>

#include "base/check.h"

namespace cairn {

void Slot::Clear(NamespaceId name_space) {
  engine_->Clear(seq_);
  tokens_.clear();
  clean_ = 0;
  lineage_ = 0;
  answers_.clear();
  name_space_ = name_space;
}

Status Slot::Truncate(size_t position) {
  CHECK(position <= tokens_.size());
  if (Status cut = engine_->Truncate(seq_, position); !cut) {
    Clear(name_space_);
    return cut;
  }
  tokens_.resize(position);
  Forget(position);
  return {};
}

void Slot::Forget(size_t position) {
  clean_ = std::min(clean_, position);
  std::erase_if(answers_, [&](const TokenRange& answer) { return answer.begin >= position; });
  if (!answers_.empty()) answers_.back().end = std::min(answers_.back().end, position);
}

Status Slot::Restore(TokenSpan prefix, const Checkpoint& checkpoint,
                     std::span<const uint8_t> snapshot) {
  CHECK(prefix.size() == checkpoint.position);
  if (Status restored = engine_->Restore(seq_, checkpoint.position, snapshot); !restored) {
    Clear(name_space_);
    return restored;
  }
  tokens_.assign(prefix.begin(), prefix.end());
  Forget(checkpoint.position);
  if (checkpoint.on_grid) clean_ = checkpoint.position;
  lineage_ = checkpoint.on_grid ? 0 : checkpoint.lineage;
  return {};
}

void Slot::BeginLineage(LineageId lineage) {
  if (on_grid()) lineage_ = lineage;
}

Status Slot::Read(TokenSpan tokens) {
  const size_t begin = tokens_.size();
  if (Status decoded = engine_->Decode(seq_, begin, tokens); !decoded) {
    if (decoded.error().code != ErrorCode::kTooLong) Clear(name_space_);
    return decoded;
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  clean_ = CleanAfter(clean_, begin, tokens_.size(), grid_tokens_);
  return {};
}

Status Slot::Decode(Token token) {
  const size_t begin = tokens_.size();
  if (Status read = Read({&token, 1}); !read) return read;
  if (answers_.empty() || answers_.back().end != begin) answers_.push_back({begin, begin});
  answers_.back().end = begin + 1;
  return {};
}

}  // namespace cairn
