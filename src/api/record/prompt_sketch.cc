#include "api/record/prompt_sketch.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace cairn {
namespace {

using SketchPart = PromptSketch::Part;

bool IsHeader(Role role) {
  return role == Role::kSystem || role == Role::kDeveloper;
}

uint64_t HashOfSaid(const Message& message) {
  uint64_t said = Hash64(message.content);
  for (const ToolCall& call : message.tool_calls) {
    said = HashMix(HashMix(said, Hash64(call.name)), Hash64(call.arguments));
  }
  return said;
}

// Adds up the hashes of the tools, which are the items of an array in compact JSON.
uint64_t HashOfToolSet(std::string_view list) {
  uint64_t set = 0;
  size_t begin = 1;
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth == 0 || (depth == 1 && c == ',')) {
      set += Hash64(list.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return set;
}

bool IsSame(const SketchPart& a, const SketchPart& b) {
  return a.role == b.role && a.said == b.said;
}

// Follows both lists from two places on.
class Walk {
 public:
  Walk(const PromptSketch& now, const PromptSketch& earlier, size_t dropped)
      : now_(now), earlier_(earlier), dropped_(dropped) {}

  SketchMatch Go() {
    SketchMatch match{.dropped = dropped_};
    size_t i = 0;
    for (; Both(i); ++i) {
      if (!Same(i)) {
        const bool same_again = now_.messages[i].role == earlier_.messages[dropped_ + i].role &&
                                Both(i + 1) && Same(i + 1);
        if (!same_again) break;
        if (!match.changed) match.changed = i;
      }
      if (!match.changed_reasoning &&
          now_.messages[i].reasoning != earlier_.messages[dropped_ + i].reasoning) {
        match.changed_reasoning = i;
      }
    }
    match.messages = i;
    if (i == 0) return match;
    // The answer to the earlier prompt was generated behind it.
    match.continues = dropped_ + i == earlier_.messages.size() && i < now_.messages.size() &&
                      now_.messages[i].role == Role::kAssistant;
    match.tokens = now_.messages[match.continues ? i : i - 1].end;
    return match;
  }

 private:
  bool Both(size_t i) const {
    return i < now_.messages.size() && dropped_ + i < earlier_.messages.size();
  }
  bool Same(size_t i) const { return IsSame(now_.messages[i], earlier_.messages[dropped_ + i]); }

  const PromptSketch& now_;
  const PromptSketch& earlier_;
  const size_t dropped_;
};

}  // namespace

PromptSketch SketchOf(const ExplainedPrompt& prompt, const Explanation& explanation) {
  PromptSketch sketch;
  sketch.tools = prompt.tools.empty() ? 0 : prompt.tools.hash();
  sketch.tool_set = HashOfToolSet(prompt.tools.text());
  size_t end = 0;
  for (size_t i = 0; i < prompt.messages.size(); ++i) {
    const Message& message = prompt.messages[i];
    const bool known = i < explanation.messages.size() && explanation.messages[i].tokens;
    const size_t begin = known ? explanation.messages[i].tokens->begin : end;
    if (known) end = std::max(end, explanation.messages[i].tokens->end);
    if (sketch.messages.empty() && IsHeader(message.role)) {
      sketch.system = HashMix(sketch.system, Hash64(message.content));
      sketch.header_end = end;
      continue;
    }
    if (sketch.messages.size() == PromptSketch::kMessagesMax) break;
    if (sketch.messages.empty()) {
      sketch.first = i;
      sketch.header_end = std::max(sketch.header_end, begin);
    }
    const uint64_t reasoning = message.reasoning.empty() ? 0 : Hash64(message.reasoning);
    sketch.messages.push_back({message.role, HashOfSaid(message), reasoning, end});
  }
  return sketch;
}

SketchMatch MatchSketches(const PromptSketch& now, const PromptSketch& earlier) {
  SketchMatch match = Walk(now, earlier, 0).Go();
  if (match.messages == 0 && !now.messages.empty()) {
    const auto& known = earlier.messages;
    const auto found = std::find_if(known.begin(), known.end(), [&](const SketchPart& part) {
      return IsSame(part, now.messages.front());
    });
    const auto dropped = static_cast<size_t>(found - known.begin());
    if (found != known.end() && dropped > 0) match = Walk(now, earlier, dropped).Go();
  }
  match.system_differs = now.system != earlier.system;
  match.tools_differ = now.tools != earlier.tools;
  match.tools_are_reordered = match.tools_differ && now.tool_set == earlier.tool_set;
  if (match.messages == 0) match.tokens = now.header_end;
  return match;
}

}  // namespace cairn
