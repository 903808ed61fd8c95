#include "tree/prefix_tree.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn {

class PrefixTree::Node {
 public:
  Tokens edge;
  Value value = 0;
  size_t end = 0;  // position of the edge's last token + 1
  Node* parent = nullptr;
  // Sorted by first token, so that drawings are the same on every run.
  std::map<Token, std::unique_ptr<Node>> children;

  Node* Child(Token first) const {
    const auto found = children.find(first);
    return found == children.end() ? nullptr : found->second.get();
  }
};

PrefixTree::PrefixTree() : root_(std::make_unique<Node>()) {}

// Chains of nodes can be as long as a conversation has turns, so they are unlinked by hand instead
// of by recursion.
PrefixTree::~PrefixTree() {
  std::vector<std::unique_ptr<Node>> pending;
  pending.push_back(std::move(root_));
  while (!pending.empty()) {
    const std::unique_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    for (auto& [first, child] : node->children) pending.push_back(std::move(child));
  }
}

PrefixTree::MatchResult PrefixTree::Match(TokenSpan tokens) const {
  MatchResult result;
  const Node* node = root_.get();
  while (result.shared < tokens.size()) {
    const Node* child = node->Child(tokens[result.shared]);
    if (child == nullptr) break;
    const size_t common = CommonPrefix(child->edge, tokens.subspan(result.shared));
    result.shared += common;
    if (common < child->edge.size()) {
      node = child;
      break;
    }
    if (child->value != 0) result.stones.push_back({child->end, child->value, child});
    node = child;
  }
  if (result.shared == 0) return result;
  result.below = node->value != 0 ? node : DescendantOf(node);
  return result;
}

const PrefixTree::Node* PrefixTree::Put(TokenSpan tokens, Value value) {
  CHECK(!tokens.empty());
  CHECK(value != 0);
  Node* node = root_.get();
  size_t at = 0;
  while (at < tokens.size()) {
    Node* child = node->Child(tokens[at]);
    if (child == nullptr) {
      auto leaf = std::make_unique<Node>();
      leaf->edge.assign(tokens.begin() + static_cast<ptrdiff_t>(at), tokens.end());
      leaf->end = tokens.size();
      leaf->parent = node;
      stored_tokens_ += leaf->edge.size();
      child = leaf.get();
      node->children.emplace(tokens[at], std::move(leaf));
      at = tokens.size();
    } else {
      const size_t common = CommonPrefix(child->edge, tokens.subspan(at));
      if (common < child->edge.size()) child = Split(child, common);
      at += common;
    }
    node = child;
  }
  if (node->value == 0) ++value_count_;
  node->value = value;
  return node;
}

const PrefixTree::Node* PrefixTree::Find(TokenSpan tokens) const {
  const MatchResult match = Match(tokens);
  if (match.shared < tokens.size() || match.stones.empty()) return nullptr;
  return match.stones.back().position == tokens.size() ? match.stones.back().node : nullptr;
}

void PrefixTree::Erase(const Node* const_node) {
  Node* node = Mutable(const_node);
  CHECK(node->value != 0);
  node->value = 0;
  --value_count_;
  if (node->children.size() == 1) {
    MergeWithChild(node);
  } else if (node->children.empty()) {
    Node* parent = node->parent;
    RemoveLeaf(node);
    if (parent != root_.get() && parent->value == 0 && parent->children.size() == 1) {
      MergeWithChild(parent);
    }
  }
}

PrefixTree::Node* PrefixTree::Split(Node* node, size_t keep) {
  CHECK(keep > 0 && keep < node->edge.size());
  auto upper = std::make_unique<Node>();
  const auto cut = node->edge.begin() + static_cast<ptrdiff_t>(keep);
  upper->edge.assign(node->edge.begin(), cut);
  upper->end = node->end - (node->edge.size() - keep);
  upper->parent = node->parent;
  std::unique_ptr<Node>& place = node->parent->children[node->edge.front()];
  node->edge.erase(node->edge.begin(), cut);
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
  child->edge.insert(child->edge.begin(), node->edge.begin(), node->edge.end());
  child->parent = node->parent;
  // Assigning destroys `node`.
  node->parent->children[child->edge.front()] = std::move(child);
}

void PrefixTree::RemoveLeaf(Node* node) {
  stored_tokens_ -= node->edge.size();
  const Token first = node->edge.front();
  node->parent->children.erase(first);
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
  Tokens tokens(node->end);
  size_t at = node->end;
  for (; node->parent != nullptr; node = node->parent) {
    at -= node->edge.size();
    std::copy(node->edge.begin(), node->edge.end(), tokens.begin() + static_cast<ptrdiff_t>(at));
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
  while (!node->children.empty()) node = node->children.begin()->second.get();
  return node;
}

std::string PrefixTree::Draw(const std::function<std::string(Token)>& token_text,
                             const std::function<std::string(Value)>& label) const {
  std::string text;
  std::vector<std::pair<const Node*, size_t>> pending{{root_.get(), 0}};
  while (!pending.empty()) {
    const auto [node, depth] = pending.back();
    pending.pop_back();
    if (node->parent != nullptr) {
      text.append(2 * (depth - 1), ' ');
      for (const Token token : node->edge) text += token_text(token);
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
  size_t values = 0;
  size_t tokens = 0;
  std::vector<const Node*> pending{root_.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    if (node->parent != nullptr) {
      CHECK(!node->edge.empty());
      CHECK(node->value != 0 || node->children.size() >= 2);
      CHECK(node->end == node->parent->end + node->edge.size());
    }
    tokens += node->edge.size();
    values += node->value != 0 ? 1 : 0;
    for (const auto& [first, child] : node->children) {
      CHECK(child->parent == node);
      CHECK(child->edge.front() == first);
      pending.push_back(child.get());
    }
  }
  CHECK(values == value_count_);
  CHECK(tokens == stored_tokens_);
}

}  // namespace cairn
