#include "tree/prefix_tree.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// Returns how many consecutive numbers `tokens` begin with.
size_t RunLength(TokenSpan tokens) {
  // Compilers vectorise a loop of constant length without an early exit.
  constexpr size_t kBlock = 16;
  const auto first = static_cast<uint32_t>(tokens.front());
  size_t count = 1;
  for (; tokens.size() - count >= kBlock; count += kBlock) {
    uint32_t differ = 0;
    const Token* const block = &tokens[count];
    const uint32_t expected = first + static_cast<uint32_t>(count);
    for (uint32_t i = 0; i < kBlock; ++i) {
      differ |= static_cast<uint32_t>(block[i]) ^ (expected + i);
    }
    if (differ != 0) break;
  }
  while (count < tokens.size() && static_cast<uint32_t>(tokens[count]) - first == count) ++count;
  return count;
}

// A conversation's path seldom has more values.
constexpr size_t kUsualHits = 16;

}  // namespace

Edge::Edge(TokenSpan tokens) {
  if (tokens.empty() || !IsNumbered(tokens.front())) {
    words_.assign(tokens.begin(), tokens.end());
    return;
  }
  while (!tokens.empty()) {
    const size_t count = RunLength(tokens);
    AddRun(tokens.front(), static_cast<Token>(count));
    tokens = tokens.subspan(count);
  }
}

void Edge::AddRun(Token first, Token count) {
  words_.push_back(first);
  words_.push_back(count);
}

size_t Edge::RunTokens() const {
  size_t tokens = 0;
  for (size_t i = 1; i < words_.size(); i += 2) tokens += static_cast<size_t>(words_[i]);
  return tokens;
}

void Edge::Copy(size_t begin, std::span<Token> to) const {
  if (!in_runs()) {
    std::copy_n(words_.begin() + static_cast<ptrdiff_t>(begin), to.size(), to.begin());
    return;
  }
  size_t skipped = begin;
  for (size_t i = 0; !to.empty(); i += 2) {
    const auto count = static_cast<size_t>(words_[i + 1]);
    const size_t from = std::min(skipped, count);
    const size_t copied = std::min(count - from, to.size());
    std::iota(to.begin(), to.begin() + static_cast<ptrdiff_t>(copied),
              words_[i] + static_cast<Token>(from));
    to = to.subspan(copied);
    skipped -= from;
  }
}

// If a run's last token is shared, so are all before it.
size_t Edge::SharedWith(TokenSpan tokens) const {
  if (!in_runs()) return CommonTokens(words_, tokens);
  size_t shared = 0;
  for (size_t i = 0; i < words_.size() && shared < tokens.size(); i += 2) {
    const TokenSpan rest = tokens.subspan(shared);
    const size_t count = std::min(static_cast<size_t>(words_[i + 1]), rest.size());
    const auto has = [&](size_t n) { return rest[n - 1] == words_[i] + static_cast<Token>(n - 1); };
    if (has(count)) {
      shared += count;
      continue;
    }
    size_t same = 0;
    size_t differs = count;
    while (differs - same > 1) {
      const size_t middle = same + (differs - same) / 2;
      (has(middle) ? same : differs) = middle;
    }
    return shared + same;
  }
  return shared;
}

Edge Edge::CutAfter(size_t keep) {
  CHECK(keep > 0 && keep < size());
  Edge rest;
  if (!in_runs()) {
    const auto cut = words_.begin() + static_cast<ptrdiff_t>(keep);
    rest.words_.assign(cut, words_.end());
    words_ = Tokens(words_.begin(), cut);  // a new one, because erasing would keep the memory
    return rest;
  }
  size_t run = 0;
  while (static_cast<size_t>(words_[run + 1]) <= keep) {
    keep -= static_cast<size_t>(words_[run + 1]);
    run += 2;
  }
  const auto kept = static_cast<Token>(keep);
  rest.AddRun(words_[run] + kept, words_[run + 1] - kept);
  const auto next = words_.begin() + static_cast<ptrdiff_t>(run) + 2;
  rest.words_.insert(rest.words_.end(), next, words_.end());
  words_ = Tokens(words_.begin(), next);
  if (kept > 0) {
    words_.back() = kept;
  } else {
    words_.resize(run);
  }
  return rest;
}

void Edge::Append(const Edge& other) {
  auto begin = other.words_.begin();
  if (in_runs() && !other.empty()) {
    const Token count = words_.back();
    const Token first = words_[words_.size() - 2];
    if (first + count == other.front()) {
      words_.back() += other.words_[1];
      begin += 2;
    }
  }
  words_.reserve(words_.size() + static_cast<size_t>(other.words_.end() - begin));
  words_.insert(words_.end(), begin, other.words_.end());
}

class PrefixTree::Node {
 public:
  Edge edge;
  Value value = 0;
  size_t end = 0;  // position of the edge's last token + 1
  Node* parent = nullptr;
  // The end of a path through this node: one of a child's, or the node itself if it has no child.
  Node* leaf = this;
  // Sorted by first token, so that drawings are the same on every run.
  std::map<Token, std::unique_ptr<Node>> children;

  Node* Child(Token first) const {
    const auto found = children.find(first);
    return found == children.end() ? nullptr : found->second.get();
  }
};

class PrefixTree::Root : public Node {
 public:
  explicit Root(RootId root_id) : id(root_id) {}
  const RootId id;
};

// Counts the node itself, its entry among its parent's children (a map's node has four words
// besides its contents), and the overhead of three allocations, the third for the tokens.
size_t PrefixTree::NodeBytes() {
  constexpr size_t kAllocationBytes = 16;
  return sizeof(Node) + sizeof(decltype(Node::children)::value_type) + 4 * sizeof(void*) +
         3 * kAllocationBytes;
}

PrefixTree::PrefixTree() = default;

// Chains of nodes can be as long as a conversation has turns, so they are destroyed by a loop, not
// by recursion.
PrefixTree::~PrefixTree() {
  std::vector<std::unique_ptr<Node>> pending;
  const auto unlink = [&](Node* node) {
    for (auto& [first, child] : node->children) pending.push_back(std::move(child));
  };
  for (auto& [id, root] : roots_) unlink(root.get());
  while (!pending.empty()) {
    const std::unique_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    unlink(node.get());
  }
}

const PrefixTree::Node* PrefixTree::RootOf(RootId root) const {
  const auto found = roots_.find(root);
  return found == roots_.end() ? nullptr : found->second.get();
}

PrefixTree::MatchResult PrefixTree::Match(RootId root, TokenSpan tokens) const {
  MatchResult result;
  const Node* node = RootOf(root);
  if (node == nullptr) return result;
  while (result.shared < tokens.size()) {
    const Node* child = node->Child(tokens[result.shared]);
    if (child == nullptr) break;
    const size_t common = child->edge.SharedWith(tokens.subspan(result.shared));
    result.shared += common;
    result.last = node = child;
    if (common < child->edge.size()) break;
    if (child->value == 0) continue;
    if (result.hits.empty()) result.hits.reserve(kUsualHits);
    result.hits.push_back({child->end, child->value, child});
  }
  return result;
}

const PrefixTree::Node* PrefixTree::Put(RootId root, TokenSpan tokens, Value value) {
  CHECK(!tokens.empty());
  CHECK(value != 0);
  std::unique_ptr<Root>& place = roots_[root];
  if (place == nullptr) {
    place = std::make_unique<Root>(root);
    ++node_count_;
  }
  Node* node = place.get();
  size_t at = 0;
  while (at < tokens.size()) {
    Node* child = node->Child(tokens[at]);
    if (child == nullptr) {
      child = AddLeaf(node, tokens.subspan(at));
      at = tokens.size();
    } else {
      const size_t common = child->edge.SharedWith(tokens.subspan(at));
      if (common < child->edge.size()) child = Split(child, common);
      at += common;
    }
    node = child;
  }
  if (node->value == 0) ++value_count_;
  node->value = value;
  return node;
}

PrefixTree::Node* PrefixTree::AddLeaf(Node* parent, TokenSpan edge) {
  auto added = std::make_unique<Node>();
  Node* const leaf = added.get();
  leaf->edge = Edge(edge);
  leaf->end = parent->end + edge.size();
  leaf->parent = parent;
  parent->children.emplace(edge.front(), std::move(added));
  ++node_count_;
  stored_tokens_ += edge.size();
  for (Node* node = parent; node != nullptr; node = node->parent) node->leaf = leaf;
  return leaf;
}

const PrefixTree::Node* PrefixTree::Find(RootId root, TokenSpan tokens) const {
  const MatchResult match = Match(root, tokens);
  if (match.shared < tokens.size() || match.hits.empty()) return nullptr;
  return match.hits.back().position == tokens.size() ? match.hits.back().node : nullptr;
}

void PrefixTree::Erase(const Node* const_node) {
  Node* node = Mutable(const_node);
  CHECK(node->value != 0);
  node->value = 0;
  --value_count_;
  if (node->children.size() == 1) {
    MergeWithChild(node);
  } else if (node->children.empty()) {
    RemoveLeaf(node);
  }
}

PrefixTree::Node* PrefixTree::Split(Node* node, size_t keep) {
  Edge rest = node->edge.CutAfter(keep);
  auto upper = std::make_unique<Node>();
  upper->edge = std::exchange(node->edge, std::move(rest));
  upper->end = node->end - node->edge.size();
  upper->parent = node->parent;
  upper->leaf = node->leaf;
  std::unique_ptr<Node>& place = node->parent->children[upper->edge.front()];
  ++node_count_;
  Node* result = upper.get();
  node->parent = result;
  const Token first = node->edge.front();
  upper->children.emplace(first, std::move(place));
  place = std::move(upper);
  return result;
}

void PrefixTree::MergeWithChild(Node* node) {
  std::unique_ptr<Node> child = std::move(node->children.begin()->second);
  node->children.clear();
  const Token first = node->edge.front();
  node->edge.Append(child->edge);
  child->edge = std::move(node->edge);
  child->parent = node->parent;
  --node_count_;
  // Assigning destroys `node`.
  node->parent->children[first] = std::move(child);
}

void PrefixTree::RemoveLeaf(Node* leaf) {
  Node* const parent = leaf->parent;
  auto other = parent->children.begin();
  if (other->second.get() == leaf) ++other;
  Node* const end = other == parent->children.end() ? parent : other->second->leaf;
  for (Node* node = parent; node != nullptr && node->leaf == leaf; node = node->parent) {
    node->leaf = end;
  }
  stored_tokens_ -= leaf->edge.size();
  --node_count_;
  const Token first = leaf->edge.front();
  parent->children.erase(first);
  if (parent->parent == nullptr) {
    if (!parent->children.empty()) return;
    --node_count_;
    roots_.erase(static_cast<const Root*>(parent)->id);
  } else if (parent->value == 0 && parent->children.size() == 1) {
    MergeWithChild(parent);
  }
}

PrefixTree::Value PrefixTree::ValueOf(const Node* node) {
  return node->value;
}

size_t PrefixTree::PositionOf(const Node* node) {
  return node->end;
}

const PrefixTree::Node* PrefixTree::AncestorOf(const Node* node) {
  const Node* above = node->parent;
  while (above != nullptr && above->value == 0) above = above->parent;
  return above;
}

Tokens PrefixTree::TokensOf(const Node* node) {
  return TokensFrom(node, 0);
}

Tokens PrefixTree::TokensFrom(const Node* node, size_t begin, size_t count_max) {
  if (begin >= node->end) return {};
  const size_t end = begin + std::min(node->end - begin, count_max);
  Tokens tokens(end - begin);
  for (; node->end > begin; node = node->parent) {
    const size_t edge_begin = node->parent->end;
    const size_t from = std::max(begin, edge_begin);
    const size_t to = std::min(end, node->end);
    if (from < to)
      node->edge.Copy(from - edge_begin, std::span(tokens).subspan(from - begin, to - from));
  }
  return tokens;
}

size_t PrefixTree::BranchesOf(const Node* node) {
  return node->children.size();
}

const PrefixTree::Node* PrefixTree::DescendantOf(const Node* node) {
  // A node without a value has children (invariant 3), so the walk ends at one with a value.
  do {
    if (node->children.empty()) return nullptr;
    node = node->children.begin()->second.get();
  } while (node->value == 0);
  return node;
}

const PrefixTree::Node* PrefixTree::LeafOf(const Node* node) {
  return node->leaf;
}

size_t PrefixTree::bytes() const {
  return stored_tokens_ * sizeof(Token) + node_count_ * NodeBytes();
}

size_t PrefixTree::BytesOf(size_t tokens) {
  // A root and one node.
  return tokens * sizeof(Token) + 2 * NodeBytes();
}

size_t PrefixTree::BytesFreedBy(const Node* node) {
  if (node->children.size() > 1) return 0;
  if (node->children.size() == 1) return NodeBytes();
  const Node* parent = node->parent;
  const size_t siblings = parent->children.size() - 1;
  const bool is_root = parent->parent == nullptr;
  // An empty root vanishes; a node that no longer branches is merged.
  const bool parent_goes = is_root ? siblings == 0 : parent->value == 0 && siblings == 1;
  return node->edge.size() * sizeof(Token) + (parent_goes ? 2 : 1) * NodeBytes();
}

std::string PrefixTree::Draw(RootId root, const std::function<std::string(Token)>& token_text,
                             const std::function<std::string(Value)>& label) const {
  std::string text;
  std::vector<std::pair<const Node*, size_t>> pending;
  if (const Node* top = RootOf(root)) pending.emplace_back(top, 0);
  while (!pending.empty()) {
    const auto [node, depth] = pending.back();
    pending.pop_back();
    if (node->parent != nullptr) {
      text.append(2 * (depth - 1), ' ');
      for (const Token token : TokensFrom(node, node->parent->end)) text += token_text(token);
      if (node->value != 0) text += " = " + label(node->value);
      text += '\n';
    }
    for (auto child = node->children.rbegin(); child != node->children.rend(); ++child) {
      pending.emplace_back(child->second.get(), depth + 1);
    }
  }
  return text;
}

void PrefixTree::CheckInvariants() const {
  size_t nodes = 0;
  size_t values = 0;
  size_t tokens = 0;
  std::vector<const Node*> pending;
  for (const auto& [id, root] : roots_) {
    CHECK(root->id == id && root->parent == nullptr && root->edge.empty() && root->value == 0);
    CHECK(!root->children.empty());
    pending.push_back(root.get());
  }
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    ++nodes;
    tokens += node->edge.size();
    values += node->value != 0 ? 1 : 0;
    if (node->parent != nullptr) {
      CHECK(!node->edge.empty());
      CHECK(node->value != 0 || node->children.size() >= 2);
      CHECK(node->end == node->parent->end + node->edge.size());
    }
    bool leaf_is_a_childs = node->children.empty() && node->leaf == node;
    for (const auto& [first, child] : node->children) {
      CHECK(child->parent == node);
      CHECK(child->edge.front() == first);
      leaf_is_a_childs |= child->leaf == node->leaf;
      pending.push_back(child.get());
    }
    CHECK(leaf_is_a_childs);
  }
  CHECK(nodes == node_count_);
  CHECK(values == value_count_);
  CHECK(tokens == stored_tokens_);
}

}  // namespace cairn
