// CutToWindow: which of a conversation's oldest turns are left out so that it fits the context.
//
//   header | turn | turn | turn | turn | turn | turn          used, as the conversation grows:
//                                 ^ planned, at 80 %
//   header                      | turn | turn | turn | …      once it exceeds the limit
//
// A cut costs reading all that stays once more, so it is one large step, to half the window, and
// the next turns go on from there. Nothing is remembered between requests: the cut is found by
// walking over the messages in their order, and what it comes to after some of them depends on
// these alone. So the next request of the same conversation, which begins with the same messages,
// is cut at the same place, until it overflows again.
//
// Pure; any thread.

#ifndef CAIRN_API_PROMPT_CONTEXT_WINDOW_H_
#define CAIRN_API_PROMPT_CONTEXT_WINDOW_H_

#include <cstddef>
#include <optional>
#include <span>

namespace cairn {

// A message behind the header.
struct SizedMessage {
  size_t tokens = 0;
  // A user's: turns begin here, and cuts are made here only, so that no tool's result is parted
  // from its call.
  bool begins_turn = false;
};

struct WindowRules {
  size_t window_tokens = 0;
  // Of it, left for the answer.
  size_t answer_tokens = 0;

  size_t limit() const { return window_tokens - answer_tokens; }
};

struct WindowCut {
  size_t start = 0;  // the first message that stays
  // The first one that will stay once it overflows: known from 80 % of the window on.
  std::optional<size_t> planned = {};

  friend bool operator==(const WindowCut&, const WindowCut&) = default;
};

// The last turn always stays, even where it does not fit; so does the header.
// REQUIRES: the first message begins a turn; rules.answer_tokens <= rules.window_tokens.
WindowCut CutToWindow(size_t header_tokens, std::span<const SizedMessage> messages,
                      const WindowRules& rules);

}  // namespace cairn

#endif  // CAIRN_API_PROMPT_CONTEXT_WINDOW_H_
