#include "api/prompt/context_window.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace cairn {
namespace {

// Percent of the window.
constexpr size_t kPlansAt = 80;
constexpr size_t kCutsTo = 50;

class WindowWalk {
 public:
  WindowWalk(size_t header_tokens, std::span<const SizedMessage> messages, const WindowRules& rules)
      : messages_(messages), rules_(rules), used_(messages.size() + 1, header_tokens) {
    for (size_t i = 0; i < messages.size(); ++i) {
      used_[i + 1] = used_[i] + messages[i].tokens;
      if (messages[i].begins_turn) turns_.push_back(i);
    }
  }

  WindowCut Walk() {
    for (size_t end = 1; end <= messages_.size(); ++end) Add(end);
    return cut_;
  }

 private:
  // The message before `end` has arrived.
  void Add(size_t end) {
    if (!cut_.planned && UsedFrom(cut_.start, end) * 100 > rules_.window_tokens * kPlansAt) {
      const size_t planned = FirstThatFits(end);
      if (planned > cut_.start) cut_.planned = planned;
    }
    if (UsedFrom(cut_.start, end) <= rules_.limit()) return;
    // Later messages may exceed the room that the plan left.
    const size_t planned = cut_.planned.value_or(cut_.start);
    cut_.start = UsedFrom(planned, end) <= rules_.limit() ? planned : FirstThatFits(end);
    cut_.planned.reset();
  }

  // Returns the earliest turn from which the messages before `end` fit half the window; the last
  // turn if none does.
  size_t FirstThatFits(size_t end) const {
    size_t found = cut_.start;
    auto turn = std::lower_bound(turns_.begin(), turns_.end(), cut_.start);
    for (; turn != turns_.end() && *turn < end; ++turn) {
      found = *turn;
      if (UsedFrom(found, end) * 100 <= rules_.window_tokens * kCutsTo) break;
    }
    return found;
  }

  // Both include the system prefix.
  size_t UsedFrom(size_t start, size_t end) const { return used_[end] - used_[start] + used_[0]; }

  const std::span<const SizedMessage> messages_;
  const WindowRules& rules_;
  std::vector<size_t> used_;   // by the system prefix and this many messages
  std::vector<size_t> turns_;  // indices of the messages that begin one
  WindowCut cut_;
};

}  // namespace

WindowCut CutToWindow(size_t header_tokens, std::span<const SizedMessage> messages,
                      const WindowRules& rules) {
  CHECK(messages.empty() || messages.front().begins_turn);
  CHECK(rules.answer_tokens <= rules.window_tokens);
  return WindowWalk(header_tokens, messages, rules).Walk();
}

}  // namespace cairn
