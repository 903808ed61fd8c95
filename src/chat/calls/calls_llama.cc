// Llama 3: the whole answer is the call, or the call follows a tag. Several calls are separated by
// white space or semicolons.
//
//   {"name": "weather", "parameters": {"city": "Rome"}}
//   <|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}

#include <array>

#include "chat/calls/calls_json.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr std::array<CallBegin, 2> kLlamaBegins = {{{"{", true}, {"<|python_tag|>"}}};
constexpr std::string_view kDivergences = "; \t\r\n";

class LlamaJsonCalls final : public CallSyntax {
 public:
  std::span<const CallBegin> begins() const override { return kLlamaBegins; }
  std::string_view last_bytes() const override { return "}"; }

  CallRead Read(std::string_view text, bool finished) const override {
    const bool tagged = text.starts_with(kLlamaBegins[1].text);
    const size_t begin = tagged ? kLlamaBegins[1].text.size() : 0;
    CallRead no_call = CallRead::Text(tagged ? begin : 1);
    size_t at = SkipWhiteSpace(text, begin);
    std::vector<FoundCall> calls;
    while (true) {
      if (at < text.size() && text[at] != '{') return no_call;
      const Scan scan = TakeJsonCalls(text, &at, &calls);
      if (scan == Scan::kMore) return CallRead::More();
      if (scan == Scan::kNotHere) return no_call;
      const size_t next = text.find_first_not_of(kDivergences, at);
      if (next == std::string_view::npos) {
        return finished ? CallRead::Calls(text.size(), std::move(calls)) : CallRead::More();
      }
      if (text[next] == '{') {
        at = next;
      } else {
        return tagged ? CallRead::Calls(at, std::move(calls)) : no_call;
      }
    }
  }
};

}  // namespace

std::unique_ptr<CallSyntax> MakeLlamaJsonCalls(const OfferedTools* /*tools*/) {
  return std::make_unique<LlamaJsonCalls>();
}

}  // namespace cairn
