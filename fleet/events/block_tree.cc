#include "fleet/events/block_tree.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"

namespace cairn {
namespace {

// Some consumers take 0 for the beginning of a sequence.
uint64_t HashOf(uint64_t parent, const std::vector<uint32_t>& ids) {
  const uint64_t hash = Hash64(ids.data(), ids.size() * sizeof(uint32_t), parent);
  return hash == 0 ? 1 : hash;
}

}  // namespace

struct BlockTree::Block {
  uint64_t hash = 0;
  Block* parent = nullptr;
  size_t depth = 1;  // the number of blocks up to its end
  std::array<Token, kEventBlockTokens> tokens = {};
  TokenIds::State before = {};  // at its begin
  TokenIds::State after = {};
  // The parts that end here, and the blocks that follow; it lives as long as there is one.
  size_t holders = 0;
  // By tier: the reaches that end here, and the blocks that follow and are reached.
  std::array<uint32_t, kPrefixTiers> reached = {};
  std::array<bool, kPrefixTiers> published = {};
  bool changed = false;  // it is in changed_

  bool IsPublished() const { return published[0] || published[1] || published[2]; }
};

BlockTree::BlockTree(const TokenIds& ids) : ids_(ids) {}
BlockTree::~BlockTree() = default;

size_t BlockTree::End::tokens() const {
  return (block == nullptr ? 0 : block->depth * kEventBlockTokens) + tail.size();
}

BlockTree::End BlockTree::CutTo(const End& end, size_t position) {
  CHECK(position <= end.tokens());
  const size_t depth = position / kEventBlockTokens;
  const size_t rest = position % kEventBlockTokens;
  Block* next = nullptr;
  Block* block = end.block;
  while (block != nullptr && block->depth > depth) next = std::exchange(block, block->parent);
  if (next == nullptr) return {block, Tokens(end.tail.begin(), end.tail.begin() + rest)};
  return {block, Tokens(next->tokens.begin(), next->tokens.begin() + rest)};
}

BlockTree::End BlockTree::Extend(End end, TokenSpan tokens) {
  Block* block = end.block;
  while (end.tail.size() + tokens.size() >= kEventBlockTokens) {
    if (end.tail.empty()) {
      block = Child(block, tokens.first(kEventBlockTokens));
      tokens = tokens.subspan(kEventBlockTokens);
      continue;
    }
    const size_t more = kEventBlockTokens - end.tail.size();
    end.tail.insert(end.tail.end(), tokens.begin(), tokens.begin() + more);
    block = Child(block, end.tail);
    end.tail.clear();
    tokens = tokens.subspan(more);
  }
  end.tail.insert(end.tail.end(), tokens.begin(), tokens.end());
  end.block = block;
  if (block != nullptr) ++block->holders;
  return end;
}

BlockTree::Block* BlockTree::Child(Block* parent, TokenSpan tokens) {
  const TokenIds::State before = parent == nullptr ? TokenIds::State() : parent->after;
  scratch_.clear();
  const TokenIds::State after = ids_.Append(before, tokens, &scratch_);
  const uint64_t hash = HashOf(parent == nullptr ? 0 : parent->hash, scratch_);
  std::unique_ptr<Block>& block = blocks_[hash];
  if (block != nullptr) return block.get();
  block = std::make_unique<Block>();
  block->hash = hash;
  block->parent = parent;
  block->depth = parent == nullptr ? 1 : parent->depth + 1;
  std::copy(tokens.begin(), tokens.end(), block->tokens.begin());
  block->before = before;
  block->after = after;
  if (parent != nullptr) ++parent->holders;
  return block.get();
}

void BlockTree::Drop(Block* block) {
  if (block == nullptr) return;
  --block->holders;
  RemoveUnheld(block);
}

// A block that is published stays until its removal has been told.
void BlockTree::RemoveUnheld(Block* block) {
  while (block != nullptr && block->holders == 0 && !block->changed && !block->IsPublished()) {
    Block* const parent = block->parent;
    blocks_.erase(block->hash);
    if (parent != nullptr) --parent->holders;
    block = parent;
  }
}

void BlockTree::NoteChange(Block* block) {
  if (std::exchange(block->changed, true)) return;
  changed_.push_back(block);
}

void BlockTree::AddReach(const End& end, PrefixTier tier) {
  const auto index = static_cast<size_t>(tier);
  for (Block* block = end.block; block != nullptr; block = block->parent) {
    if (block->reached.at(index)++ > 0) return;
    NoteChange(block);
  }
}

void BlockTree::RemoveReach(const End& end, PrefixTier tier) {
  const auto index = static_cast<size_t>(tier);
  for (Block* block = end.block; block != nullptr; block = block->parent) {
    CHECK(block->reached.at(index) > 0);
    if (--block->reached.at(index) > 0) return;
    NoteChange(block);
  }
}

std::vector<KvEvent> BlockTree::NextEvents(size_t blocks_max) {
  std::sort(changed_.begin(), changed_.end(),
            [](const Block* a, const Block* b) { return a->depth < b->depth; });
  std::vector<KvEvent> events;
  if (!TellStored(blocks_max, &events)) return events;
  TellRemoved(&events);
  Settle();
  return events;
}

bool BlockTree::TellStored(size_t blocks_max, std::vector<KvEvent>* events) {
  // By tier: the events that may go on, by their last blocks.
  std::array<std::unordered_map<const Block*, size_t>, kPrefixTiers> open;
  size_t told = 0;
  for (Block* const block : changed_) {
    if (told >= blocks_max) return false;
    for (size_t tier = 0; tier < kPrefixTiers; ++tier) {
      if (block->reached.at(tier) == 0 || block->published.at(tier)) continue;
      block->published.at(tier) = true;
      ++published_.at(tier);
      ++told;
      auto before = open.at(tier).extract(block->parent);
      if (before.empty()) {
        KvEvent& event = events->emplace_back();
        event.tier = static_cast<PrefixTier>(tier);
        if (block->parent != nullptr) event.parent = block->parent->hash;
        open.at(tier).emplace(block, events->size() - 1);
      } else {
        before.key() = block;
        open.at(tier).insert(std::move(before));
      }
      KvEvent& event = (*events)[open.at(tier).at(block)];
      event.blocks.push_back(block->hash);
      ids_.Append(block->before, block->tokens, &event.token_ids);
    }
  }
  return true;
}

// Deepest first, so that no block is ever without its parent.
void BlockTree::TellRemoved(std::vector<KvEvent>* events) {
  for (size_t tier = 0; tier < kPrefixTiers; ++tier) {
    KvEvent event{KvEvent::Kind::kRemoved, static_cast<PrefixTier>(tier)};
    for (auto at = changed_.rbegin(); at != changed_.rend(); ++at) {
      Block* const block = *at;
      if (block->reached.at(tier) > 0 || !block->published.at(tier)) continue;
      block->published.at(tier) = false;
      --published_.at(tier);
      event.blocks.push_back(block->hash);
    }
    if (!event.blocks.empty()) events->push_back(std::move(event));
  }
}

void BlockTree::Settle() {
  std::vector<Block*> unheld;
  for (Block* const block : changed_) {
    block->changed = false;
    if (block->holders == 0) unheld.push_back(block);
  }
  changed_.clear();
  // None of them is above another: a block holds the one before it.
  for (Block* const block : unheld) RemoveUnheld(block);
}

void BlockTree::PublishAnew() {
  published_ = {};
  for (const auto& [hash, block] : blocks_) {
    block->published = {};
    if (block->reached != decltype(block->reached){}) NoteChange(block.get());
  }
}

void BlockTree::CheckInvariants() const {
  std::unordered_map<const Block*, size_t> children;
  std::array<size_t, kPrefixTiers> published = {};
  for (const auto& [hash, block] : blocks_) {
    CHECK(block->hash == hash);
    CHECK(block->depth == (block->parent == nullptr ? 1 : block->parent->depth + 1));
    CHECK(block->holders > 0 || block->changed || block->IsPublished());
    for (size_t tier = 0; tier < kPrefixTiers; ++tier) {
      published[tier] += block->published[tier] ? 1 : 0;
      CHECK(block->changed || block->published[tier] == (block->reached[tier] > 0));
    }
    if (block->parent != nullptr) ++children[block->parent];
  }
  for (const auto& [block, count] : children) CHECK(count <= block->holders);
  CHECK(published == published_);
}

void PartTable::Apply(const PrefixChange& change) {
  switch (change.kind) {
    case PrefixChange::Kind::kPut:
      return Put(change);
    case PrefixChange::Kind::kMoved: {
      const auto found = parts_.find(change.part);
      CHECK(found != parts_.end());
      found->second.own = change.tier;
      return SettleTier(change.part);
    }
    case PrefixChange::Kind::kGone:
      return Remove(change.part);
  }
}

void PartTable::Put(const PrefixChange& change) {
  BlockTree::End from;
  PrefixTier tier = change.tier;
  if (change.base != 0) {
    const auto base = parts_.find(change.base);
    CHECK(base != parts_.end());
    from = BlockTree::CutTo(base->second.end, change.begin);
    if (change.needs_base) {
      CHECK(change.base != change.part);
      tier = std::max(tier, base->second.tier);
      base->second.needed_by.insert(change.part);
    }
  }
  Part& part = parts_[change.part];
  const bool moves_base = part.base != 0 && part.base == change.base && change.needs_base;
  Part before = std::exchange(part, {});
  if (moves_base) before.base = 0;  // the base goes on being needed
  part.end = tree_->Extend(std::move(from), change.tokens);
  part.own = change.tier;
  part.tier = tier;
  part.resumable = change.resumable;
  part.base = change.needs_base ? change.base : 0;
  part.needed_by = before.needed_by;
  if (part.resumable) tree_->AddReach(part.end, part.tier);
  Leave(change.part, before);
  for (const uint64_t other :
       std::vector<uint64_t>(before.needed_by.begin(), before.needed_by.end())) {
    SettleTier(other);
  }
}

void PartTable::Leave(uint64_t id, const Part& part) {
  if (part.resumable) tree_->RemoveReach(part.end, part.tier);
  tree_->Release(part.end);
  if (part.base != 0) parts_.at(part.base).needed_by.erase(id);
}

void PartTable::Remove(uint64_t id) {
  const auto found = parts_.find(id);
  CHECK(found != parts_.end() && found->second.needed_by.empty());
  const Part part = std::move(found->second);
  parts_.erase(found);
  Leave(id, part);
}

void PartTable::SettleTier(uint64_t id) {
  std::vector<uint64_t> to_do = {id};
  while (!to_do.empty()) {
    Part& part = parts_.at(to_do.back());
    to_do.pop_back();
    const PrefixTier tier =
        part.base == 0 ? part.own : std::max(part.own, parts_.at(part.base).tier);
    if (tier == part.tier) continue;
    if (part.resumable) {
      tree_->AddReach(part.end, tier);
      tree_->RemoveReach(part.end, part.tier);
    }
    part.tier = tier;
    to_do.insert(to_do.end(), part.needed_by.begin(), part.needed_by.end());
  }
}

}  // namespace cairn
