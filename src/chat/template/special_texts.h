// SpecialTexts: the texts that a tokenizer turns into special tokens when it is told to look for
// them: "<|im_start|>", "<|im_end|>", "</s>". In a message they are to be text like any other.

#ifndef CAIRN_CHAT_TEMPLATE_SPECIAL_TEXTS_H_
#define CAIRN_CHAT_TEMPLATE_SPECIAL_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/parse/reasoning.h"

namespace cairn {

// Constant after construction; any thread. A search takes time by the text's size, whatever is in
// it and however many texts there are.
class SpecialTexts {
 public:
  // Empty texts are ignored.
  explicit SpecialTexts(const std::vector<std::string>& texts);

  // The first one in `text` at or after `from`, of those that begin there the longest; an empty
  // range at the text's end when there is none.
  TextRange Find(std::string_view text, size_t from) const;
  bool AnyIn(std::string_view text) const { return Find(text, 0).begin < text.size(); }

 private:
  struct Node {
    std::map<char, uint32_t> next;
    bool ends = false;
  };

  // Bytes of the longest one that `text` begins with; 0: none.
  size_t MatchFront(std::string_view text) const;

  std::vector<Node> nodes_;  // [0] is the root
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_SPECIAL_TEXTS_H_
