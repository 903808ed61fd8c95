#include "engine/grammar/token_trie.h"

#include <algorithm>

namespace cairn {

TokenTrie::TokenTrie(const std::vector<std::string>& texts, const std::vector<bool>& left_out) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool is_in = !texts[i].empty() && (left_out.empty() || !left_out[i]);
    if (is_in) tokens_.push_back(static_cast<int32_t>(i));
  }
  const auto text_of = [&](int32_t token) -> const std::string& {
    return texts[static_cast<size_t>(token)];
  };
  std::sort(tokens_.begin(), tokens_.end(), [&](int32_t a, int32_t b) {
    const int order = text_of(a).compare(text_of(b));
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<uint32_t> open;  // the nodes from the root to the last one
  const auto close_to = [&](size_t depth) {
    for (; open.size() > depth; open.pop_back()) {
      nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
    }
  };
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& text = text_of(tokens_[i]);
    size_t shared = 0;
    if (i > 0) {
      const std::string& before = text_of(tokens_[i - 1]);
      const auto differ =
          std::mismatch(text.begin(), text.end(), before.begin(), before.end()).first;
      shared = static_cast<size_t>(differ - text.begin());
    }
    close_to(shared);
    for (size_t at = shared; at < text.size(); ++at) {
      open.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.tokens = static_cast<uint32_t>(i),
                        .depth = static_cast<uint32_t>(at + 1),
                        .byte = static_cast<uint8_t>(text[at])});
    }
    depth_max_ = std::max(depth_max_, text.size());
  }
  close_to(0);
}

}  // namespace cairn
