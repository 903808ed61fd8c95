// TokenTrie: the texts of a vocabulary's tokens as a tree of bytes, so that what tokens have in
// common is matched once, and what nothing may begin with is left out as a whole.

#ifndef CAIRN_ENGINE_GRAMMAR_TOKEN_TRIE_H_
#define CAIRN_ENGINE_GRAMMAR_TOKEN_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cairn {

// Constant once made; any thread.
class TokenTrie {
 public:
  // A byte behind those of the nodes above it.
  struct Node {
    uint32_t end = 0;     // the first node behind it that is not below it
    uint32_t tokens = 0;  // of the tokens in order, the first that begins with it
    uint32_t depth = 0;   // from 1 on
    uint8_t byte = 0;
  };

  TokenTrie() = default;
  // A token is the place of its text. Those without a text, and those `left_out`, are not in it;
  // an empty `left_out` leaves out none.
  explicit TokenTrie(const std::vector<std::string>& texts, const std::vector<bool>& left_out = {});

  // A node stands before those below it.
  const std::vector<Node>& nodes() const { return nodes_; }
  // The tokens whose text ends at a node.
  std::span<const int32_t> TokensOf(size_t node) const {
    const size_t begin = nodes_[node].tokens;
    const size_t end = node + 1 < nodes_.size() ? nodes_[node + 1].tokens : tokens_.size();
    return std::span(tokens_).subspan(begin, end - begin);
  }
  size_t depth_max() const { return depth_max_; }

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;  // in the order of their texts
  size_t depth_max_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRAMMAR_TOKEN_TRIE_H_
