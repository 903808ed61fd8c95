// PrefixTree: token sequences, stored once however many of them begin alike. This is the header
// of tree/ that others include.
//
// An edge holds a run of tokens; a node ends an edge and may hold a value, which the tree never
// looks into. Storing "abcd"=1, then "abef"=2 splits an edge; erasing 2 merges it again:
//
//    (root)              (root)                        (root)
//      |                   |                             |
//     abcd = 1    ->       ab            -> erase 2 ->  abcd = 1
//                         /  \                                                              .
//                    cd = 1   ef = 2
//
// Invariants:
//  1. No two children of a node begin with the same token.
//  2. No edge but the root's is empty.
//  3. Every node but the root has a value or at least two children.
//
// Threads: none of its own; const calls may run side by side.
// Cost: Match, Put and Find read each token of the sequence once, however large the tree is.

#ifndef CAIRN_TREE_PREFIX_TREE_H_
#define CAIRN_TREE_PREFIX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/tokens.h"

namespace cairn {

class PrefixTree {
 public:
  // What a node holds. Zero means nothing.
  using Value = uint64_t;

  // A node as seen from outside. It lives until Erase is called on it; splits and merges of its
  // edge do not move it.
  class Node;

  struct Stone {
    size_t position;  // tokens before it
    Value value;
    const Node* node;
  };
  struct MatchResult {
    // How many of the tokens asked for are stored, whether or not a node ends there.
    size_t shared = 0;
    // The valued nodes along them, shallowest first.
    std::vector<Stone> stones;
    // A valued node whose sequence begins with the tokens that are shared; null when none are.
    const Node* below = nullptr;
  };

  PrefixTree();
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // Follows `tokens` from the root as far as they are stored.
  MatchResult Match(TokenSpan tokens) const;
  // Stores `value` at the end of `tokens` and returns its node. A value already there is replaced.
  // REQUIRES: `tokens` is not empty, `value` is not zero.
  const Node* Put(TokenSpan tokens, Value value);
  // The node that ends exactly at `tokens` and holds a value, or null.
  const Node* Find(TokenSpan tokens) const;
  // Takes the value away, and with it every token that no other value needs.
  void Erase(const Node* node);

  static Value ValueOf(const Node* node);
  // Number of tokens from the root to the end of `node`.
  static size_t PositionOf(const Node* node);
  // The nearest node above with a value, or null.
  static const Node* AncestorOf(const Node* node);
  static Tokens TokensOf(const Node* node);
  // Edges that go on from it.
  static size_t BranchesOf(const Node* node);
  // A nearest node below with a value, or null.
  static const Node* DescendantOf(const Node* node);
  // The end of a path that begins with `node`'s; itself when nothing goes on from it.
  static const Node* LeafOf(const Node* node);

  size_t value_count() const { return value_count_; }
  // Tokens held by all edges together.
  size_t stored_tokens() const { return stored_tokens_; }

  // The tree as text, children in order of their first token, for people and for tests. `label`
  // words a value; `token_text` words a token.
  std::string Draw(const std::function<std::string(Token)>& token_text,
                   const std::function<std::string(Value)>& label) const;

  // CHECKs the invariants; costs a walk over the whole tree.
  void CheckInvariants() const;

 private:
  static Node* Mutable(const Node* node) { return const_cast<Node*>(node); }
  // Cuts the edge of `node` after `keep` tokens; returns the new node above it.
  Node* Split(Node* node, size_t keep);
  // Joins `node` into its only child.
  void MergeWithChild(Node* node);
  void RemoveLeaf(Node* node);

  std::unique_ptr<Node> root_;
  size_t value_count_ = 0;
  size_t stored_tokens_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_TREE_PREFIX_TREE_H_
