// Hermes, Qwen 2.5 and 3, Granite 4, and our own chatml:
//
//   <tool_call>
//   {"name": "weather", "arguments": {"city": "Rome"}}
//   </tool_call>

#include <array>

#include "chat/calls/calls_json.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr std::array<CallBegin, 1> kHermesBegins = {{{"<tool_call>"}}};

class HermesCalls final : public CallSyntax {
 public:
  std::span<const CallBegin> begins() const override { return kHermesBegins; }
  std::string_view last_bytes() const override { return ">"; }

  CallRead Read(std::string_view text, bool finished) const override {
    const size_t begin = kHermesBegins[0].text.size();
    size_t at = begin;
    std::vector<FoundCall> calls;
    Scan scan = TakeJsonCalls(text, &at, &calls);
    if (scan == Scan::kFound) scan = TakeClose(text, "</tool_call>", finished, &at);
    if (scan == Scan::kMore) return CallRead::More();
    return scan == Scan::kFound ? CallRead::Calls(at, std::move(calls)) : CallRead::Text(begin);
  }
};

}  // namespace

std::unique_ptr<CallSyntax> MakeHermesCalls(const OfferedTools* /*tools*/) {
  return std::make_unique<HermesCalls>();
}

}  // namespace cairn
