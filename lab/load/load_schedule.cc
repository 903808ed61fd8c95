#include "lab/load/load_schedule.h"

#include <algorithm>
#include <string>

#include "lab/client/seeded_text.h"

namespace cairn {
namespace {

// Times and lengths before scaling.
constexpr double kFirstPromptMs = 3000;
constexpr double kPromptEveryMs = 8000;     // plus or minus half
constexpr size_t kLongPromptTokens = 4000;  // to twice as many
constexpr size_t kChatSystemTokens = 300;
constexpr size_t kChatMessageTokens = 40;  // to four times as many
constexpr double kThinkMs = 1000;          // to five times as long

// Returns whole milliseconds, so that rounding cannot differ between machines.
double Between(SeededText* random, double low, double high) {
  return low + static_cast<double>(random->Number(static_cast<uint64_t>(high - low) + 1));
}

size_t Scaled(double tokens, double scale) {
  return std::max<size_t>(static_cast<size_t>(tokens * scale), 8);
}

}  // namespace

MixedSchedule MakeMixedSchedule(const MixedParams& params) {
  MixedSchedule schedule;
  SeededText prompts(params.seed, "mixed: when prompts come");
  double at_ms = kFirstPromptMs;
  for (size_t i = 0; i < params.prompts; ++i) {
    schedule.prompts.push_back(
        {at_ms * params.scale,
         Scaled(Between(&prompts, kLongPromptTokens, 2 * kLongPromptTokens), params.scale)});
    at_ms += Between(&prompts, kPromptEveryMs / 2, kPromptEveryMs * 3 / 2);
  }
  for (size_t i = 0; i < params.chats; ++i) {
    SeededText chat(params.seed, "mixed: when chat " + std::to_string(i) + " asks");
    ChatPlan plan;
    plan.system_tokens = Scaled(kChatSystemTokens, params.scale);
    for (size_t turn = 0; turn < params.turns; ++turn) {
      plan.turns.push_back(
          {Between(&chat, kThinkMs, 5 * kThinkMs) * params.scale,
           Scaled(Between(&chat, kChatMessageTokens, 4 * kChatMessageTokens), params.scale)});
    }
    schedule.chats.push_back(std::move(plan));
  }
  return schedule;
}

}  // namespace cairn
