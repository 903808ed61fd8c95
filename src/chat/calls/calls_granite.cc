// Granite 3: a list after a tag that has no closing tag. Phi 4 mini closes it:
//
//   <|tool_call|>[{"name": "weather", "arguments": {"city": "Rome"}}]
//   <|tool_call|>[{"name": "weather", "arguments": {"city": "Rome"}}]<|/tool_call|>

#include <array>

#include "chat/calls/calls_json.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr std::array<CallBegin, 1> kGraniteBegins = {{{"<|tool_call|>"}}};

class GraniteCalls final : public CallSyntax {
 public:
  std::span<const CallBegin> begins() const override { return kGraniteBegins; }
  std::string_view last_bytes() const override { return "]}>"; }

  CallRead Read(std::string_view text, bool finished) const override {
    const size_t begin = kGraniteBegins[0].text.size();
    size_t at = begin;
    std::vector<FoundCall> calls;
    const Scan scan = TakeJsonCalls(text, &at, &calls);
    if (scan == Scan::kMore) return CallRead::More();
    if (scan == Scan::kNotHere) return CallRead::Text(begin);
    if (TakeWord(text, "<|/tool_call|>", &at) == Scan::kMore && !finished) return CallRead::More();
    return CallRead::Calls(at, std::move(calls));
  }
};

}  // namespace

std::unique_ptr<CallSyntax> MakeGraniteCalls(const OfferedTools* /*tools*/) {
  return std::make_unique<GraniteCalls>();
}

}  // namespace cairn
