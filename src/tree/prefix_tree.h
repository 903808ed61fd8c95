// PrefixTree: token sequences, stored once however many of them begin alike. This is the header
// of tree/ that others include.
//
// One tree has as many roots as its user has names for them, and no token is ever shared or matched
// across roots. A root is there while something is stored under it.
//
// An edge holds a run of tokens; a node ends an edge and may hold a value, which the tree never
// looks into. Storing "abcd"=1, then "abef"=2 splits an edge; erasing 2 merges it again:
//
//     root                root                          root
//      |                   |                             |
//     abcd = 1    ->       ab            -> erase 2 ->  abcd = 1
//                         /  \                                                              .
//                    cd = 1   ef = 2
//
// Invariants:
//  1. No two children of a node begin with the same token.
//  2. No edge but a root's is empty.
//  3. Every node but a root has a value or at least two children; a root has at least one.
//
// Threads: none of its own; const calls may run side by side.
// Cost: Match, Put and Find read each token of the sequence once, however large the tree is. Erase
// takes one step for each node above.

#ifndef CAIRN_TREE_PREFIX_TREE_H_
#define CAIRN_TREE_PREFIX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/tokens.h"

namespace cairn {

class PrefixTree {
 public:
  // What a node holds. Zero means nothing.
  using Value = uint64_t;
  using RootId = uint32_t;

  // A node as seen from outside. It lives until Erase is called on it; splits and merges of its
  // edge do not move it.
  class Node;

  struct Hit {
    size_t position;  // tokens before it
    Value value;
    const Node* node;
  };
  struct MatchResult {
    // How many of the tokens asked for are stored, whether or not a node ends there.
    size_t shared = 0;
    // The valued nodes along them, shallowest first.
    std::vector<Hit> hits;
    // The node on whose edge the shared tokens end; null when none are shared. Its sequence begins
    // with them.
    const Node* last = nullptr;
  };

  PrefixTree();
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // Follows `tokens` from the root as far as they are stored.
  MatchResult Match(RootId root, TokenSpan tokens) const;
  // Stores `value` at the end of `tokens` and returns its node. A value already there is replaced.
  // REQUIRES: `tokens` is not empty, `value` is not zero.
  const Node* Put(RootId root, TokenSpan tokens, Value value);
  // The node that ends exactly at `tokens` and holds a value, or null.
  const Node* Find(RootId root, TokenSpan tokens) const;
  // Takes the value away, and with it every token that no other value needs.
  void Erase(const Node* node);

  static Value ValueOf(const Node* node);
  // Number of tokens from the root to the end of `node`.
  static size_t PositionOf(const Node* node);
  // The nearest node above with a value, or null.
  static const Node* AncestorOf(const Node* node);
  static Tokens TokensOf(const Node* node);
  // Of these, those behind the first `begin`; it costs no more than they are.
  static Tokens TokensFrom(const Node* node, size_t begin);
  // Edges that go on from it.
  static size_t BranchesOf(const Node* node);
  // A nearest node below with a value, or null.
  static const Node* DescendantOf(const Node* node);
  // The end of a path that begins with `node`'s; itself when nothing goes on from it. Of several
  // ends the one that was new last, or some other once that is erased. One step, however deep.
  static const Node* LeafOf(const Node* node);

  size_t root_count() const { return roots_.size(); }
  size_t value_count() const { return value_count_; }
  // Tokens held by all edges together.
  size_t stored_tokens() const { return stored_tokens_; }
  // Memory that all of it takes: the tokens, and what a node takes beside them, estimated.
  size_t bytes() const;
  // Of a node beside its tokens; a root has none.
  static size_t NodeBytes();
  // Of a tree that holds one sequence of so many tokens: no sequence is stored for less.
  static size_t BytesOf(size_t tokens);
  // What `bytes()` will be less by when `node` is erased.
  static size_t BytesFreedBy(const Node* node);

  // What is under one root as text, children in order of their first token, for people and for
  // tests. `label` words a value; `token_text` words a token.
  std::string Draw(RootId root, const std::function<std::string(Token)>& token_text,
                   const std::function<std::string(Value)>& label) const;

  // CHECKs the invariants under every root; costs a walk over the whole tree.
  void CheckInvariants() const;

 private:
  class Root;

  static Node* Mutable(const Node* node) { return const_cast<Node*>(node); }
  const Node* RootOf(RootId root) const;
  // Adds a node that holds `edge` below `parent`.
  Node* AddLeaf(Node* parent, TokenSpan edge);
  // Cuts the edge of `node` after `keep` tokens; returns the new node above it.
  Node* Split(Node* node, size_t keep);
  // Joins `node` into its only child.
  void MergeWithChild(Node* node);
  void RemoveLeaf(Node* leaf);

  std::unordered_map<RootId, std::unique_ptr<Root>> roots_;
  size_t node_count_ = 0;  // roots too
  size_t value_count_ = 0;
  size_t stored_tokens_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_TREE_PREFIX_TREE_H_
