// SpecialTexts: the texts that a tokenizer turns into special tokens if it is told to parse them:
// "<|im_start|>", "<|im_end|>", "</s>". In a message they must be ordinary text.

#ifndef CAIRN_CHAT_SPANS_SPECIAL_TEXTS_H_
#define CAIRN_CHAT_SPANS_SPECIAL_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/parse/reasoning.h"

namespace cairn {

// Constant after construction; any thread. The time of a search is linear in the text's size,
// whatever the text and however many special texts there are.
class SpecialTexts {
 public:
  // Empty texts are ignored.
  explicit SpecialTexts(const std::vector<std::string>& texts);

  // Returns the first special text in `text` at or after `from`, and the longest of those that
  // begin there; an empty range at the text's end if there is none.
  TextRange Find(std::string_view text, size_t from) const;
  bool AnyIn(std::string_view text) const { return Find(text, 0).begin < text.size(); }

 private:
  struct Node {
    std::map<char, uint32_t> next;
    bool ends = false;
  };

  // Returns the size of the longest special text that `text` begins with; 0 if there is none.
  size_t MatchFront(std::string_view text) const;

  std::vector<Node> nodes_;  // [0] is the root
};

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_SPECIAL_TEXTS_H_
