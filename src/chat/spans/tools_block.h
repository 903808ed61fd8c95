// The text that a template writes for the offered tools, and where.
//
// Some templates (Mistral) show the tools in front of the last user message:
//
//   turn 1   [TOOLS] U1 A1
//   turn 2           U1 A1 [TOOLS] U2      the prompts diverge at the first byte
//
// Each new question then changes all of the prompt. The block is kept where the first question
// had it:
//
//   turn 2   [TOOLS] U1 A1 U2
//
// Pure functions; any thread.

#ifndef CAIRN_CHAT_SPANS_TOOLS_BLOCK_H_
#define CAIRN_CHAT_SPANS_TOOLS_BLOCK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cairn {

struct InsertedText {
  size_t at = 0;
  std::string text;
};

// The one text that must be inserted into `bare` to make `full`; nothing when there is none such.
// Where several places would do it is the last one.
std::optional<InsertedText> FindInsertion(std::string_view bare, std::string_view full);

// A conversation rendered with its tools and without, and the same of its beginning up to the
// first user message.
struct ToolRenderings {
  std::string with_tools;
  std::string bare;
  std::string first_with_tools;
  std::string first_bare;
};

// `bare` with the tools where the beginning has them. `with_tools` when the block is not the same
// text in both, or the beginning is not how the conversation begins.
std::string WithToolsInFront(const ToolRenderings& renderings);

}  // namespace cairn

#endif  // CAIRN_CHAT_SPANS_TOOLS_BLOCK_H_
