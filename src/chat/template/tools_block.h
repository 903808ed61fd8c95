// The text that a template writes for the offered tools, and its place.
//
// Some templates (Mistral) show the tools before the last user message:
//
//   turn 1   [TOOLS] U1 A1
//   turn 2           U1 A1 [TOOLS] U2      the prompts diverge at the first byte
//
// Each new question then changes the whole prompt. The block is therefore kept where the first
// question had it:
//
//   turn 2   [TOOLS] U1 A1 U2
//
// Pure functions; any thread.

#ifndef CAIRN_CHAT_TEMPLATE_TOOLS_BLOCK_H_
#define CAIRN_CHAT_TEMPLATE_TOOLS_BLOCK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "chat/template/rendered_text.h"

namespace cairn {

struct InsertedText {
  size_t at = 0;
  std::string text;
};

// Returns the single text that must be inserted into `bare` to get `full`; nullopt if there is
// none. If several places are possible, returns the last one.
std::optional<InsertedText> FindInsertion(std::string_view bare, std::string_view full);

// A conversation rendered with and without its tools, and its beginning up to the first user
// message rendered likewise.
struct ToolRenderings {
  std::string_view with_tools;
  std::string_view bare;
  std::string_view first_with_tools;
  std::string_view first_bare;
};

// Returns the range of the block in `first_with_tools`, which `bare` must get at the same place.
// Returns nullopt if `with_tools` has to stay: the block differs between the two, or the beginning
// is not a prefix of the conversation.
std::optional<TextRange> ToolsInFront(const ToolRenderings& renderings);

// Inserts a range of `from` into a text, origins too.
void InsertText(const RenderedText& from, const TextRange& range, size_t at, RenderedText* into);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_TOOLS_BLOCK_H_
