// PrefixTree: a radix tree of token sequences, which stores common prefixes once. This is the
// header of tree/ that others include.
//
// A tree has any number of roots, named by the caller, and no token is shared or matched across
// roots. A root exists while a value is stored under it.
//
// An edge holds a run of tokens; a node ends an edge and may hold a value, which is opaque to the
// tree. Storing "abcd"=1, then "abef"=2 splits an edge; erasing 2 merges it again:
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
// Threads: no locks of its own; const calls may run concurrently.
// Cost: Match, Put and Find visit each token of the sequence once, whatever the size of the tree.
// Erase takes one step for each node above.

#ifndef CAIRN_TREE_PREFIX_TREE_H_
#define CAIRN_TREE_PREFIX_TREE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/tokens.h"

namespace cairn {

// Edge: the tokens of an edge of PrefixTree. Tokens of a vocabulary are held as they are. Numbered
// tokens (base/tokens.h) are held as runs of consecutive numbers, because most of them are, and a
// simulated cache holds the prompts of a whole trace.
//
// A value; any thread.
class Edge {
 public:
  Edge() = default;
  explicit Edge(TokenSpan tokens);

  bool empty() const { return words_.empty(); }
  size_t size() const { return in_runs() ? RunTokens() : words_.size(); }
  // REQUIRES: not empty.
  Token front() const { return words_.front(); }
  // Returns how many first tokens it shares with `tokens`.
  size_t SharedWith(TokenSpan tokens) const;
  // Copies tokens from `begin` on, as many as fit. REQUIRES: it has as many.
  void Copy(size_t begin, std::span<Token> to) const;

  // Keeps the first `keep` tokens and returns the others. REQUIRES: 0 < keep < size().
  Edge CutAfter(size_t keep);
  // REQUIRES: both are numbered or neither is.
  void Append(const Edge& other);

 private:
  bool in_runs() const { return !words_.empty() && IsNumbered(words_.front()); }
  size_t RunTokens() const;
  void AddRun(Token first, Token count);

  // The tokens; or the first token of each run, each followed by the number of the run's tokens.
  Tokens words_;
};

class PrefixTree {
 public:
  // The value of a node. Zero means none.
  using Value = uint64_t;
  using RootId = uint64_t;

  // An opaque node. It lives until Erase is called on it; splits and merges of its edge do not move
  // it.
  class Node;

  struct Hit {
    size_t position;  // tokens before it
    Value value;
    const Node* node;
  };
  struct MatchResult {
    // How many of the given tokens are stored, whether or not a node ends there.
    size_t shared = 0;
    // The nodes with values along them, shallowest first.
    std::vector<Hit> hits;
    // The node on whose edge the shared tokens end; nullptr if none are shared. Its sequence begins
    // with them.
    const Node* last = nullptr;
  };

  PrefixTree();
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // Follows `tokens` from the root as far as they are stored.
  MatchResult Match(RootId root, TokenSpan tokens) const;
  // Stores `value` at the end of `tokens` and returns its node. Replaces a value already there.
  // REQUIRES: `tokens` is not empty, `value` is not zero.
  const Node* Put(RootId root, TokenSpan tokens, Value value);
  // Returns the node that ends exactly at `tokens` and holds a value, or nullptr.
  const Node* Find(RootId root, TokenSpan tokens) const;
  // Removes the node's value, and every token that no other value needs.
  void Erase(const Node* node);

  static Value ValueOf(const Node* node);
  // Number of tokens from the root to the end of `node`.
  static size_t PositionOf(const Node* node);
  // Returns the nearest node above with a value, or nullptr.
  static const Node* AncestorOf(const Node* node);
  static Tokens TokensOf(const Node* node);
  // The tokens of `node` after the first `begin`, at most `count_max`. Takes one step for each
  // token returned, and one for each node above.
  static Tokens TokensFrom(const Node* node, size_t begin, size_t count_max = SIZE_MAX);
  // The number of edges that continue from the node.
  static size_t BranchesOf(const Node* node);
  // Returns a nearest node below with a value, or nullptr.
  static const Node* DescendantOf(const Node* node);
  // Returns the end of a path through `node`; the node itself if no edge continues from it. Of
  // several ends it is the newest one, or some other once that is erased. One step, however deep.
  static const Node* LeafOf(const Node* node);

  size_t root_count() const { return roots_.size(); }
  size_t value_count() const { return value_count_; }
  // The number of tokens on all edges together.
  size_t stored_tokens() const { return stored_tokens_; }
  // Memory of the tree: the tokens, plus an estimate per node.
  size_t bytes() const;
  // Memory of a node without its tokens; a root counts as none.
  static size_t NodeBytes();
  // Memory of a tree that holds one sequence of `tokens` tokens: the least that a sequence costs.
  static size_t BytesOf(size_t tokens);
  // How much `bytes()` shrinks when `node` is erased.
  static size_t BytesFreedBy(const Node* node);

  // Draws the tree under one root as text, children in order of their first token, for people and
  // for tests. `label` formats a value; `token_text` formats a token.
  std::string Draw(RootId root, const std::function<std::string(Token)>& token_text,
                   const std::function<std::string(Value)>& label) const;

  // CHECKs the invariants under every root. Costs a walk over the complete tree.
  void CheckInvariants() const;

 private:
  class Root;

  static Node* Mutable(const Node* node) { return const_cast<Node*>(node); }
  const Node* RootOf(RootId root) const;
  // Adds a node that holds `edge` below `parent`.
  Node* AddLeaf(Node* parent, TokenSpan edge);
  // Cuts the edge of `node` after `keep` tokens; returns the new node above it.
  Node* Split(Node* node, size_t keep);
  // Merges `node` into its only child.
  void MergeWithChild(Node* node);
  void RemoveLeaf(Node* leaf);

  std::unordered_map<RootId, std::unique_ptr<Root>> roots_;
  size_t node_count_ = 0;  // includes roots
  size_t value_count_ = 0;
  size_t stored_tokens_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_TREE_PREFIX_TREE_H_
