#include "chat/spans/special_texts.h"

namespace cairn {

SpecialTexts::SpecialTexts(const std::vector<std::string>& texts) : nodes_(1) {
  for (const std::string& text : texts) {
    uint32_t at = 0;
    for (const char byte : text) {
      const auto [child, added] =
          nodes_[at].next.emplace(byte, static_cast<uint32_t>(nodes_.size()));
      at = child->second;
      if (added) nodes_.emplace_back();
    }
    nodes_[at].ends = at != 0;
  }
}

TextRange SpecialTexts::Find(std::string_view text, size_t from) const {
  for (size_t at = from; at < text.size(); ++at) {
    const size_t bytes = MatchFront(text.substr(at));
    if (bytes > 0) return {at, at + bytes};
  }
  return {text.size(), text.size()};
}

size_t SpecialTexts::MatchFront(std::string_view text) const {
  size_t longest = 0;
  uint32_t at = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto child = nodes_[at].next.find(text[i]);
    if (child == nodes_[at].next.end()) break;
    at = child->second;
    if (nodes_[at].ends) longest = i + 1;
  }
  return longest;
}

}  // namespace cairn
