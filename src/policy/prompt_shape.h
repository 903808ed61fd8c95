// PromptShape: what a placement policy may know about a prompt. The chat layer fills it in; a
// prompt that is no chat has only its length.
//
//   0          header_end                          messages_end   tokens
//   | system, tools | user | assistant | user        |  generation   |
//                   ^ turn             ^ turn            prompt

#ifndef CAIRN_POLICY_PROMPT_SHAPE_H_
#define CAIRN_POLICY_PROMPT_SHAPE_H_

#include <cstddef>
#include <vector>

namespace cairn {

// A message that a client may edit, drop or branch from begins here.
struct Turn {
  size_t position = 0;
  bool by_user = true;  // false: a tool's result, which clients seldom edit
};

struct PromptShape {
  size_t tokens = 0;
  // End of the system message and tool definitions; 0 when unknown or absent.
  size_t header_end = 0;
  // Shallowest first.
  std::vector<Turn> turns;
  // End of the last message, where the generation prompt begins; 0 when unknown.
  size_t messages_end = 0;
};

}  // namespace cairn

#endif  // CAIRN_POLICY_PROMPT_SHAPE_H_
