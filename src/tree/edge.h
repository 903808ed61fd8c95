// Edge: the tokens of an edge of PrefixTree. Tokens of a vocabulary are held as they are. Numbered
// tokens (base/tokens.h) are held as runs of consecutive numbers, because most of them are, and a
// simulated cache holds the prompts of a whole trace.
//
// A value; any thread.

#ifndef CAIRN_TREE_EDGE_H_
#define CAIRN_TREE_EDGE_H_

#include <cstddef>
#include <span>

#include "base/tokens.h"

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_TREE_EDGE_H_
