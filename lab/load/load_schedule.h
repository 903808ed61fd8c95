// The schedule of the workload `mixed`: every request and its time, computed in advance from the
// seed alone, so that every server gets the same load.

#ifndef CAIRN_LAB_LOAD_LOAD_SCHEDULE_H_
#define CAIRN_LAB_LOAD_LOAD_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cairn {

struct MixedParams {
  uint64_t seed = 1;
  double scale = 1;  // factor on all lengths and times
  size_t chats = 6;
  size_t turns = 12;   // of each chat
  size_t prompts = 7;  // number of long prompts
};

// A request sent at a fixed time, regardless of other requests.
struct LongPrompt {
  double at_ms = 0;
  size_t tokens = 0;

  friend bool operator==(const LongPrompt&, const LongPrompt&) = default;
};

struct ChatTurn {
  double think_ms = 0;  // after the last answer, or after the beginning
  size_t message_tokens = 0;

  friend bool operator==(const ChatTurn&, const ChatTurn&) = default;
};

struct ChatPlan {
  size_t system_tokens = 0;
  std::vector<ChatTurn> turns;

  friend bool operator==(const ChatPlan&, const ChatPlan&) = default;
};

struct MixedSchedule {
  std::vector<LongPrompt> prompts;  // in the order of their times
  std::vector<ChatPlan> chats;

  friend bool operator==(const MixedSchedule&, const MixedSchedule&) = default;
};

// Returns the same schedule for the same parameters on every machine. Pure.
MixedSchedule MakeMixedSchedule(const MixedParams& params);

}  // namespace cairn

#endif  // CAIRN_LAB_LOAD_LOAD_SCHEDULE_H_
