// CutToWindow: decides which of a conversation's oldest turns are dropped so that it fits the
// context.
//
//   header | turn | turn | turn | turn | turn | turn          used, as the conversation grows:
//                                 ^ planned, at 80 %
//   header                      | turn | turn | turn | …      once it exceeds the limit
//
// After a cut everything that stays is prefilled again. So a cut is one large step, to half the
// window, and the next turns continue from there. No state is kept between requests: the cut is
// found by walking over the messages in order, and the result after some of them depends on these
// alone. So the next request of the same conversation, which begins with the same messages, is cut
// at the same place until it overflows again.
//
// Pure; any thread.

#ifndef CAIRN_API_PROMPT_CONTEXT_WINDOW_H_
#define CAIRN_API_PROMPT_CONTEXT_WINDOW_H_

#include <cstddef>
#include <optional>
#include <span>

namespace cairn {

// A message after the system prefix.
struct SizedMessage {
  size_t tokens = 0;
  // Whether it is a user's message. Turns begin there, and cuts are made only there, so that no
  // tool result is separated from its call.
  bool begins_turn = false;
};

struct WindowRules {
  size_t window_tokens = 0;
  // Tokens of the window that are left for the answer.
  size_t answer_tokens = 0;

  size_t limit() const { return window_tokens - answer_tokens; }
};

struct WindowCut {
  size_t start = 0;  // index of the first message that stays
  // Index of the first message that will stay at the next overflow; known from 80 % of the window
  // on.
  std::optional<size_t> planned = {};

  friend bool operator==(const WindowCut&, const WindowCut&) = default;
};

// The system prefix and the last turn always stay, even if they do not fit. REQUIRES: the first
// message begins a turn; rules.answer_tokens <= rules.window_tokens.
WindowCut CutToWindow(size_t header_tokens, std::span<const SizedMessage> messages,
                      const WindowRules& rules);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_CONTEXT_WINDOW_H_
