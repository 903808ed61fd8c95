#include "sched/slot.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace cairn {

void Slot::Clear(NamespaceId name_space) {
  engine_->Clear(seq_);
  tokens_.clear();
  provenance_ = {};
  forks_ = false;
  name_space_ = name_space;
}

Status Slot::Truncate(size_t position) {
  CHECK(position <= tokens_.size());
  if (Status cut = engine_->Truncate(seq_, position); !cut) {
    Clear(name_space_);
    return cut;
  }
  CutTo(position);
  return {};
}

void Slot::CutTo(size_t position) {
  if (position < tokens_.size()) forks_ = true;
  tokens_.resize(position);
  provenance_.CutTo(position);
}

Status Slot::Restore(TokenSpan prefix, const Checkpoint& checkpoint, ByteSpan snapshot) {
  const size_t position = checkpoint.position;
  CHECK(prefix.size() == position);
  if (!engine_->traits().NeedsSnapshots()) return Truncate(position);
  if (Status restored = engine_->Restore(seq_, position, snapshot); !restored) {
    Clear(name_space_);
    return restored;
  }
  if (position <= tokens_.size() && CommonPrefix(tokens_, prefix) == position &&
      provenance_.LineageAt(position) == checkpoint.lineage) {
    CutTo(position);
    return {};
  }
  // Only a state that is all there is comes from elsewhere.
  tokens_.assign(prefix.begin(), prefix.end());
  provenance_ = {};
  if (checkpoint.on_grid()) {
    provenance_.clean = position;
  } else {
    provenance_.runs = {{checkpoint.lineage, 0}};
  }
  forks_ = true;
  return {};
}

Status Slot::Join(TokenSpan prefix, size_t shared, const CheckpointCache::PinnedPath& path,
                  ByteSpan snapshot) {
  const size_t same = SharedBits(provenance_, path.provenance, shared);
  size_t keep = 0;
  std::vector<SegmentPart> parts;
  for (const CheckpointCache::PinnedPath::Part& part : path.parts) {
    if (part.begin <= same) {
      keep = part.begin;
      parts.clear();
    }
    parts.push_back({part.begin, part.end, part.bytes});
  }
  if (Status joined = engine_->Join(seq_, keep, parts, prefix.size(), snapshot); !joined) {
    Clear(name_space_);
    return joined;
  }
  tokens_.assign(prefix.begin(), prefix.end());
  provenance_ = path.provenance;
  forks_ = true;
  return {};
}

Status Slot::Read(TokenSpan tokens) {
  const size_t begin = tokens_.size();
  if (Status decoded = engine_->Decode(seq_, begin, tokens); !decoded) {
    if (decoded.error().code != ErrorCode::kTooLong) Clear(name_space_);
    return decoded;
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  provenance_.clean = CleanAfter(provenance_.clean, begin, tokens_.size(), grid_tokens_);
  if (provenance_.clean == tokens_.size()) return {};
  if (provenance_.runs.empty()) {
    provenance_.runs.push_back({next_lineage_, provenance_.clean});
  } else if (forks_) {
    provenance_.runs.push_back({next_lineage_, begin});
  }
  forks_ = false;
  return {};
}

Status Slot::Decode(Token token) {
  const size_t begin = tokens_.size();
  if (Status read = Read({&token, 1}); !read) return read;
  std::vector<TokenRange>& answers = provenance_.answers;
  if (answers.empty() || answers.back().end != begin) answers.push_back({begin, begin});
  answers.back().end = begin + 1;
  return {};
}

}  // namespace cairn
