#include "trace/sequence_numbers.h"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

void Append(uint64_t first, size_t count, std::vector<BlockRange>* ranges) {
  if (count == 0) return;
  const auto begin = static_cast<uint32_t>(first);
  const auto last = static_cast<uint32_t>(first + count - 1);
  if (!ranges->empty() && ranges->back().last + 1 == begin) {
    ranges->back().last = last;
  } else {
    ranges->push_back({begin, last});
  }
}

}  // namespace

uint32_t SequenceNumbers::RootOf(uint64_t root) {
  const auto [found, is_new] = roots_.try_emplace(root, static_cast<uint32_t>(nodes_.size()));
  if (is_new) nodes_.emplace_back();
  return found->second;
}

std::optional<std::vector<BlockRange>> SequenceNumbers::Add(uint64_t root, TokenSpan tokens) {
  if (next_ + tokens.size() > kTraceTokensMax) return std::nullopt;
  ++tick_;
  std::vector<BlockRange> ranges;
  uint32_t at = RootOf(root);
  nodes_[at].used = tick_;
  while (!tokens.empty()) {
    const auto child = nodes_[at].children.find(tokens.front());
    if (child == nodes_[at].children.end()) break;
    at = child->second;
    const size_t shared = CommonPrefix(nodes_[at].tokens, tokens);
    if (shared < nodes_[at].tokens.size()) Split(at, shared);
    nodes_[at].used = tick_;
    Append(nodes_[at].first, shared, &ranges);
    tokens = tokens.subspan(shared);
  }
  if (tokens.empty()) return ranges;
  Node leaf;
  leaf.first = next_;
  leaf.tokens.assign(tokens.begin(), tokens.end());
  leaf.used = tick_;
  nodes_[at].children.emplace(tokens.front(), static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(std::move(leaf));
  Append(next_, tokens.size(), &ranges);
  next_ += tokens.size();
  held_tokens_ += tokens.size();
  if (held_tokens_ > tokens_max_) ForgetOldest();
  return ranges;
}

// The node keeps the first part; the rest becomes its only child.
void SequenceNumbers::Split(uint32_t node, size_t at) {
  Node rest;
  Node& front = nodes_[node];
  rest.first = front.first + at;
  rest.tokens.assign(front.tokens.begin() + static_cast<std::ptrdiff_t>(at), front.tokens.end());
  rest.used = front.used;
  rest.children = std::move(front.children);
  front.tokens.resize(at);
  front.tokens.shrink_to_fit();
  front.children = {{rest.tokens.front(), static_cast<uint32_t>(nodes_.size())}};
  nodes_.push_back(std::move(rest));
}

// A node's last use is never before that of a node below it, so the remaining nodes form a tree.
void SequenceNumbers::ForgetOldest() {
  std::vector<std::pair<uint64_t, size_t>> uses;
  for (const Node& node : nodes_) uses.emplace_back(node.used, node.tokens.size());
  std::sort(uses.begin(), uses.end());
  uint64_t oldest_kept = 0;
  size_t left = held_tokens_;
  for (const auto& [used, count] : uses) {
    // Nodes with the same last use are kept or dropped together.
    if (left <= tokens_max_ / 2 && used != oldest_kept) break;
    oldest_kept = used;
    left -= count;
  }
  std::vector<uint32_t> moved(nodes_.size(), UINT32_MAX);
  std::vector<Node> kept;
  held_tokens_ = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const bool is_root = nodes_[i].tokens.empty();
    if (nodes_[i].used <= oldest_kept && !is_root) continue;
    moved[i] = static_cast<uint32_t>(kept.size());
    held_tokens_ += nodes_[i].tokens.size();
    kept.push_back(std::move(nodes_[i]));
  }
  for (Node& node : kept) {
    std::erase_if(node.children,
                  [&](const auto& child) { return moved[child.second] == UINT32_MAX; });
    for (auto& [token, child] : node.children) child = moved[child];
  }
  for (auto& [root, node] : roots_) node = moved[node];
  nodes_ = std::move(kept);
}

}  // namespace cairn
