// Mistral, the older form and the newer one, which may have an id of the call between name and
// arguments:
//
//   [TOOL_CALLS][{"name": "weather", "arguments": {"city": "Rome"}, "id": "a1b2c3d4e"}]
//   [TOOL_CALLS]weather[ARGS]{"city": "Rome"}[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}
//   [TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Rome"}

#include <array>
#include <string>

#include "chat/calls/calls_json.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr std::array<CallBegin, 1> kMistralBegins = {{{"[TOOL_CALLS]"}}};
constexpr std::string_view kArguments = "[ARGS]";
constexpr std::string_view kCallId = "[CALL_ID]";
constexpr std::string_view kNoName = "[]{}\"'<> \t\r\n";

// Parses `name[ARGS]{…}` and moves `at` past it.
Scan TakeNamedCall(std::string_view text, size_t* at, std::vector<FoundCall>* calls) {
  const size_t name_begin = SkipWhiteSpace(text, *at);
  size_t i = text.find_first_of(kNoName, name_begin);
  if (i == std::string_view::npos) return Scan::kMore;
  if (i == name_begin) return Scan::kNotHere;
  const std::string_view name = text.substr(name_begin, i - name_begin);
  const Scan id = TakeWord(text, kCallId, &i);
  if (id == Scan::kMore) return id;
  if (id == Scan::kFound) i = text.find('[', i);
  if (i == std::string_view::npos) return Scan::kMore;
  const Scan tag = TakeWord(text, kArguments, &i);
  if (tag != Scan::kFound) return tag;
  const size_t begin = SkipWhiteSpace(text, i);
  if (begin == text.size()) return Scan::kMore;
  if (text[begin] != '{') return Scan::kNotHere;
  size_t end = begin;
  const Scan json = SkipJson(text, &end);
  if (json != Scan::kFound) return json;
  const std::string_view arguments = text.substr(begin, end - begin);
  if (!IsJsonObject(arguments)) return Scan::kNotHere;
  calls->push_back({std::string(name), std::string(arguments)});
  *at = end;
  return Scan::kFound;
}

class MistralCalls final : public CallSyntax {
 public:
  std::span<const CallBegin> begins() const override { return kMistralBegins; }
  std::string_view last_bytes() const override { return "]}"; }

  CallRead Read(std::string_view text, bool /*finished*/) const override {
    const size_t begin = kMistralBegins[0].text.size();
    size_t at = SkipWhiteSpace(text, begin);
    if (at == text.size()) return CallRead::More();
    std::vector<FoundCall> calls;
    const bool list = text[at] == '[' || text[at] == '{';
    const Scan scan = list ? TakeJsonCalls(text, &at, &calls) : TakeNamedCall(text, &at, &calls);
    if (scan == Scan::kMore) return CallRead::More();
    return scan == Scan::kFound ? CallRead::Calls(at, std::move(calls)) : CallRead::Text(begin);
  }
};

}  // namespace

std::unique_ptr<CallSyntax> MakeMistralCalls(const OfferedTools* /*tools*/) {
  return std::make_unique<MistralCalls>();
}

}  // namespace cairn
