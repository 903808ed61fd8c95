// Families that write calls in Python syntax.
//
//   LFM2   <|tool_call_start|>[weather(city="Rome")]<|tool_call_end|>, or JSON between the tags
//   Llama  [weather(city="Rome"), weather(city="Oslo")], and nothing else in the answer

#include <array>

#include "chat/calls/calls_json.h"
#include "chat/calls/calls_python.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr std::array<CallBegin, 1> kLfm2Begins = {{{"<|tool_call_start|>"}}};
constexpr std::array<CallBegin, 1> kLlamaPythonicBegins = {{{"[", true}}};

class Lfm2Calls final : public CallSyntax {
 public:
  std::span<const CallBegin> begins() const override { return kLfm2Begins; }
  std::string_view last_bytes() const override { return ">"; }

  CallRead Read(std::string_view text, bool finished) const override {
    const size_t begin = kLfm2Begins[0].text.size();
    size_t at = begin;
    std::vector<FoundCall> calls;
    Scan scan = TakePythonCalls(text, &at, &calls);
    if (scan == Scan::kNotHere) {
      calls.clear();
      scan = TakeJsonCalls(text, &at, &calls);
    }
    if (scan == Scan::kFound) scan = TakeClose(text, "<|tool_call_end|>", finished, &at);
    if (scan == Scan::kMore) return CallRead::More();
    return scan == Scan::kFound ? CallRead::Calls(at, std::move(calls)) : CallRead::Text(begin);
  }
};

class LlamaPythonicCalls final : public CallSyntax {
 public:
  std::span<const CallBegin> begins() const override { return kLlamaPythonicBegins; }
  std::string_view last_bytes() const override { return "]"; }

  CallRead Read(std::string_view text, bool finished) const override {
    size_t at = 0;
    std::vector<FoundCall> calls;
    const Scan scan = TakePythonCalls(text, &at, &calls);
    if (scan == Scan::kMore) return CallRead::More();
    const bool whole = scan == Scan::kFound && SkipWhiteSpace(text, at) == text.size();
    if (!whole) return CallRead::Text(kLlamaPythonicBegins[0].text.size());
    return finished ? CallRead::Calls(text.size(), std::move(calls)) : CallRead::More();
  }
};

}  // namespace

std::unique_ptr<CallSyntax> MakeLfm2Calls(const OfferedTools* /*tools*/) {
  return std::make_unique<Lfm2Calls>();
}

std::unique_ptr<CallSyntax> MakeLlamaPythonicCalls(const OfferedTools* /*tools*/) {
  return std::make_unique<LlamaPythonicCalls>();
}

}  // namespace cairn
