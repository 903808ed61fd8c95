#include "sched/slots/slot.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {

void Slot::Clear(NamespaceId name_space) {
  engine_->Clear(seq_);
  Lose();
  name_space_ = name_space;
}

void Slot::Lose() {
  uncut_.reset();
  tokens_.clear();
  unchanged_ = 0;
  cuts_.CutTo(0);
  provenance_ = {};
  own_tokens_ = SIZE_MAX;
  forks_ = false;
  CountCells();
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
  uncut_.reset();
  if (position < tokens_.size()) forks_ = true;
  tokens_.resize(position);
  unchanged_ = std::min(unchanged_, position);
  cuts_.CutTo(position);
  provenance_.CutTo(position);
  // Only `live` cuts a clean state off the grid. The tokens after the last cut belong to the run
  // that continues from here.
  if (provenance_.clean == position && !cuts_.Has(position)) {
    provenance_.CutTo(cuts_.AtOrBefore(position));
    provenance_.Append({provenance_.clean, position}, next_lineage_, {});
    forks_ = false;
  }
  if (position <= own_tokens_) own_tokens_ = SIZE_MAX;
  CountCells();
}

void Slot::SetTokens(Tokens tokens) {
  uncut_.reset();
  unchanged_ = 0;
  tokens_ = std::move(tokens);
  cuts_.CutTo(0);
  cuts_.Extend(*rules_, tokens_);
}

Status Slot::Restore(TokenSpan prefix, const Checkpoint& checkpoint, ByteSpan snapshot) {
  const size_t position = checkpoint.position;
  CHECK(prefix.size() == position);
  if (!engine_->traits().NeedsSnapshots()) return Truncate(position);
  engine_->SetMedia(seq_, prefix);
  if (Status restored = engine_->Restore(seq_, position, snapshot); !restored) {
    Clear(name_space_);
    return restored;
  }
  if (position <= tokens_.size() && CommonPrefix(tokens_, prefix) == position &&
      provenance_.LineageAt(position) == checkpoint.lineage) {
    CutTo(position);
    return {};
  }
  // Only a snapshot that is the complete state can come from elsewhere.
  SetTokens({prefix.begin(), prefix.end()});
  provenance_ = {};
  if (checkpoint.on_grid()) {
    provenance_.clean = position;
  } else {
    provenance_.runs = {{checkpoint.lineage, 0}};
  }
  forks_ = true;
  CountCells();
  return {};
}

Status Slot::Fork(const Slot& from, size_t position, ByteSpan snapshot) {
  CHECK(position <= from.tokens_.size());
  if (Status forked = engine_->Fork(from.seq_, seq_, position, snapshot); !forked) {
    Clear(from.name_space_);
    return forked;
  }
  CHECK(position <= from.own_tokens());
  const auto own = static_cast<size_t>(seq_);
  if (engine_->traits().one_buffer) {
    ledger_->Share(static_cast<size_t>(from.seq_), own, position);
  } else {
    ledger_->SetTokens(own, 0);  // a copy takes cells of its own, which CutTo counts
  }
  name_space_ = from.name_space_;
  tokens_ = from.tokens_;
  unchanged_ = 0;
  cuts_ = from.cuts_;
  provenance_ = from.provenance_;
  own_tokens_ = SIZE_MAX;
  CutTo(position);
  forks_ = true;
  return {};
}

Provenance Slot::own_provenance() const {
  Provenance own = provenance_;
  own.CutTo(own_tokens());
  return own;
}

Status Slot::Drop(const TokenRange& range, LineageId lineage) {
  CHECK(range.begin < range.end && range.end < tokens_.size());
  if (Status dropped = engine_->Drop(seq_, range.begin, range.end); !dropped) {
    Clear(name_space_);
    return dropped;
  }
  const size_t dropped = range.end - range.begin;
  std::vector<TokenRange> answers = provenance_.AnswersIn({range.end, tokens_.size()});
  for (TokenRange& answer : answers) answer = {answer.begin - dropped, answer.end - dropped};
  // The clean part must end at a cut.
  const bool in_clean = range.begin < provenance_.clean;
  const size_t begin = in_clean ? cuts_.AtOrBefore(range.begin) : range.begin;
  Tokens left = std::move(tokens_);
  left.erase(left.begin() + static_cast<ptrdiff_t>(range.begin),
             left.begin() + static_cast<ptrdiff_t>(range.end));
  SetTokens(std::move(left));
  provenance_.CutTo(begin);
  provenance_.Append({begin, tokens_.size()}, lineage, answers);
  own_tokens_ = std::min(own_tokens_, provenance_.clean);
  // The cells after the range are no longer shared with those before.
  ledger_->SetTokens(static_cast<size_t>(seq_), range.begin);
  CountCells();
  return {};
}

Status Slot::Unshare(size_t begin) {
  CHECK(begin < tokens_.size());
  auto bytes = engine_->TakeSegment(seq_, begin, tokens_.size());
  Status copied;
  if (bytes) {
    const SegmentPart part = {begin, tokens_.size(), *bytes};
    copied = engine_->Assemble(seq_, begin, {&part, 1}, tokens_.size(), ByteSpan());
  } else {
    copied = tl::unexpected(bytes.error());
  }
  if (!copied) {
    Clear(name_space_);
    return copied;
  }
  ledger_->SetTokens(static_cast<size_t>(seq_), begin);
  CountCells();
  return {};
}

Status Slot::SetFullState(const FullState& whole, ByteSpan bytes) {
  Clear(whole.name_space);
  engine_->SetMedia(seq_, whole.tokens);
  if (Status set = engine_->SetFullState(seq_, whole.tokens.size(), bytes); !set) {
    Clear(whole.name_space);
    return set;
  }
  SetTokens(whole.tokens);
  provenance_ = whole.provenance;
  forks_ = true;
  CountCells();
  return {};
}

Status Slot::UseAdapters() {
  return engine_->UseAdapters(AdapterSetOf(name_space_));
}

Status Slot::Prefill(TokenSpan tokens, bool all_logits) {
  Status decoded = UseAdapters();
  if (decoded) {
    const SeqChunk chunk = {seq_, tokens_.size(), tokens};
    decoded = all_logits ? engine_->DecodeChunks({&chunk, 1}, ChunkLogits::kEach)
                         : engine_->Decode(seq_, tokens_.size(), tokens);
  }
  if (!decoded) {
    if (decoded.error().code == ErrorCode::kInternal) Clear(name_space_);
    return decoded;
  }
  AddPrefilled(tokens);
  return {};
}

void Slot::AddPrefilled(TokenSpan tokens) {
  UncutChunk chunk{{tokens_.size(), tokens_.size() + tokens.size()}, provenance_, forks_};
  AddChunk(tokens);
  if (provenance_.clean < tokens_.size()) uncut_ = std::move(chunk);
}

Status PrefillTogether(Engine* engine, std::span<const SlotChunk> chunks) {
  std::vector<SeqChunk> together;
  for (const auto& [slot, tokens] : chunks) {
    together.push_back({slot->seq_, slot->tokens_.size(), tokens});
  }
  Status decoded = chunks.front().slot->UseAdapters();
  if (decoded) decoded = engine->DecodeChunks(together, ChunkLogits::kLast);
  for (const auto& [slot, tokens] : chunks) {
    if (decoded) {
      slot->AddPrefilled(tokens);
    } else if (decoded.error().code == ErrorCode::kInternal) {
      slot->Clear(slot->name_space_);
    }
  }
  return decoded;
}

Status Slot::PrefillMedium(TokenSpan tokens, const EncodedPiece& piece) {
  Status decoded = UseAdapters();
  if (decoded) decoded = engine_->DecodeMedium(seq_, tokens_.size(), tokens, piece);
  if (!decoded) {
    if (decoded.error().code == ErrorCode::kInternal) Clear(name_space_);
    return decoded;
  }
  const size_t begin = tokens_.size();
  std::optional<UncutChunk> before = std::exchange(uncut_, std::nullopt);
  AddTokens(tokens);
  if (before && before->range.end == begin) {
    provenance_ = std::move(before->provenance);
    forks_ = before->forks;
    AddProvenance(before->range);
  }
  AddProvenance({begin, tokens_.size()});
  return {};
}

Status Slot::DecodeAnswered(Token token) {
  const size_t begin = tokens_.size();
  if (Status read = Prefill({&token, 1}); !read) return read;
  MarkAnswered(begin);
  return {};
}

void Slot::AddChunk(TokenSpan tokens) {
  const size_t begin = tokens_.size();
  AddTokens(tokens);
  AddProvenance({begin, tokens_.size()});
}

void Slot::AddTokens(TokenSpan tokens) {
  uncut_.reset();
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  cuts_.Extend(*rules_, tokens_);
  CountCells();
}

void Slot::AddProvenance(const TokenRange& chunk) {
  provenance_.clean = cuts_.CleanAfter(provenance_.clean, chunk);
  if (provenance_.clean == chunk.end) return;
  if (provenance_.runs.empty()) {
    provenance_.runs.push_back({next_lineage_, provenance_.clean});
  } else if (forks_) {
    provenance_.runs.push_back({next_lineage_, chunk.begin});
  }
  forks_ = false;
}

void Slot::AddDecoded(Token token) {
  AddChunk({&token, 1});
  MarkAnswered(tokens_.size() - 1);
}

Status Slot::RollBack(size_t decoded, ByteSpan snapshot) {
  CHECK(0 < decoded && decoded <= tokens_.size());
  Status rolled;
  if (snapshot.empty()) {
    rolled = engine_->RollBack(seq_, tokens_.size());
  } else {
    const size_t begin = tokens_.size() - decoded;
    rolled = engine_->Restore(seq_, begin, snapshot);
    const TokenSpan again = TokenSpan(tokens_).subspan(begin);
    if (rolled) rolled = UseAdapters();
    if (rolled) rolled = engine_->DecodeEach(NextTokens(seq_, begin, again));
  }
  if (!rolled) Clear(name_space_);
  return rolled;
}

void Slot::MarkAnswered(size_t begin) {
  std::vector<TokenRange>& answers = provenance_.answers;
  if (answers.empty() || answers.back().end != begin) answers.push_back({begin, begin});
  answers.back().end = begin + 1;
}

size_t SlotAssembly::PartsHeld(size_t shared, std::span<const SegmentPart> path) const {
  size_t same = SharedBits(slot_->provenance_, provenance_, shared);
  if (same <= std::min(slot_->provenance_.clean, provenance_.clean)) {
    same = slot_->cuts_.AtOrBefore(same);
  }
  size_t held = 0;
  while (held + 1 < path.size() && path[held + 1].begin <= same) ++held;
  return held;
}

Status SlotAssembly::Done(Status assembled) {
  if (!assembled) {
    slot_->Clear(slot_->name_space_);
    return assembled;
  }
  slot_->SetTokens(prefix_);
  slot_->provenance_ = provenance_;
  slot_->forks_ = true;
  slot_->CountCells();
  return {};
}

Status SlotAssembly::AtOnce(size_t shared, std::span<const SegmentPart> path, ByteSpan snapshot) {
  const std::span<const SegmentPart> parts = path.subspan(PartsHeld(shared, path));
  const size_t keep = parts.empty() ? 0 : parts.front().begin;
  slot_->engine_->SetMedia(slot_->seq_, prefix_);
  Status assembled = slot_->engine_->Assemble(slot_->seq_, keep, parts, prefix_.size(), snapshot);
  if (assembled) slot_->CutTo(keep);
  return Done(std::move(assembled));
}

size_t SlotAssembly::Begin(size_t shared, std::span<const SegmentPart> path) {
  const size_t held = PartsHeld(shared, path);
  end_ = path[held].begin;
  slot_->engine_->SetMedia(slot_->seq_, prefix_);
  if (end_ == 0) slot_->engine_->Clear(slot_->seq_);
  slot_->Lose();
  slot_->ledger_->SetTokens(static_cast<size_t>(slot_->seq_), prefix_.size());
  return held;
}

Status SlotAssembly::Add(const SegmentPart& part) {
  Status added = slot_->engine_->Assemble(slot_->seq_, end_, {&part, 1}, part.end, std::nullopt);
  if (!added) slot_->Clear(slot_->name_space_);
  end_ = part.end;
  return added;
}

Status SlotAssembly::End(ByteSpan snapshot) {
  return Done(slot_->engine_->Assemble(slot_->seq_, end_, {}, end_, snapshot));
}

}  // namespace cairn
