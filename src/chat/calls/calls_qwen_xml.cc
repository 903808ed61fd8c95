// Qwen3-Coder and Qwen 3.5. Some answers omit the outer tags, or one of them.
//
//   <tool_call>
//   <function=weather>
//   <parameter=city>
//   Rome
//   </parameter>
//   </function>
//   </tool_call>
//
// Values are bare text; the tool's schema gives their JSON types.

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "chat/calls/argument_types.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_syntax.h"

namespace cairn {
namespace {

constexpr std::array<CallBegin, 2> kQwenBegins = {{{"<tool_call>"}, {"<function="}}};
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";

struct Parameter {
  std::string name;
  std::string value;
};

// The line breaks between the tags and the value are not part of the value.
std::string WithoutTagLines(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return std::string(value);
}

Scan TakeNameUntilBracket(std::string_view text, size_t* at, std::string* name) {
  const size_t end = text.find_first_of("<>\r\n", *at);
  if (end == std::string_view::npos) return Scan::kMore;
  if (text[end] != '>' || end == *at) return Scan::kNotHere;
  *name = text.substr(*at, end - *at);
  *at = end + 1;
  return Scan::kFound;
}

// Finds the end of a value: a closing tag that is followed by the next parameter or the function's
// end. Any other closing tag is part of the value, which may itself be markup.
Scan FindValueEnd(std::string_view text, size_t at, size_t* end) {
  for (size_t tag = text.find(kParameterEnd, at); tag != std::string_view::npos;
       tag = text.find(kParameterEnd, tag + 1)) {
    size_t next = SkipWhiteSpace(text, tag + kParameterEnd.size());
    const Scan function = TakeWord(text, kFunctionEnd, &next);
    const Scan parameter = TakeWord(text, kParameter, &next);
    if (function == Scan::kFound || parameter == Scan::kFound) {
      *end = tag;
      return Scan::kFound;
    }
    if (function == Scan::kMore || parameter == Scan::kMore) return Scan::kMore;
  }
  return Scan::kMore;
}

Scan TakeParameter(std::string_view text, size_t* at, Parameter* parameter) {
  *at = SkipWhiteSpace(text, *at);
  Scan scan = TakeWord(text, kParameter, at);
  if (scan == Scan::kFound) scan = TakeNameUntilBracket(text, at, &parameter->name);
  size_t end = 0;
  if (scan == Scan::kFound) scan = FindValueEnd(text, *at, &end);
  if (scan != Scan::kFound) return scan;
  parameter->value = WithoutTagLines(text.substr(*at, end - *at));
  *at = end + kParameterEnd.size();
  return Scan::kFound;
}

// Parses <function=…>…</function> and moves `at` past it.
Scan TakeFunction(std::string_view text, size_t* at, std::string* name,
                  std::vector<Parameter>* parameters) {
  Scan scan = TakeWord(text, kQwenBegins[1].text, at);
  if (scan == Scan::kFound) scan = TakeNameUntilBracket(text, at, name);
  while (scan == Scan::kFound) {
    *at = SkipWhiteSpace(text, *at);
    const Scan end = TakeWord(text, kFunctionEnd, at);
    if (end == Scan::kFound) return end;
    Parameter parameter;
    scan = TakeParameter(text, at, &parameter);
    if (end == Scan::kMore && scan == Scan::kNotHere) return Scan::kMore;
    if (scan == Scan::kFound) parameters->push_back(std::move(parameter));
  }
  return scan;
}

class QwenXmlCalls final : public CallSyntax {
 public:
  explicit QwenXmlCalls(const OfferedTools* tools) : tools_(tools) {}

  std::span<const CallBegin> begins() const override { return kQwenBegins; }
  std::string_view last_bytes() const override { return ">"; }

  CallRead Read(std::string_view text, bool finished) const override {
    const bool tagged = text.starts_with(kQwenBegins[0].text);
    CallRead no_call = CallRead::Text(kQwenBegins[tagged ? 0 : 1].text.size());
    size_t at = tagged ? SkipWhiteSpace(text, kQwenBegins[0].text.size()) : 0;
    std::string name;
    std::vector<Parameter> parameters;
    const Scan scan = TakeFunction(text, &at, &name, &parameters);
    if (scan == Scan::kMore) return CallRead::More();
    if (scan == Scan::kNotHere) return no_call;
    size_t close = at;
    const Scan closed = tagged ? TakeClose(text, "</tool_call>", finished, &close) : Scan::kFound;
    if (closed == Scan::kMore) return CallRead::More();
    if (closed == Scan::kFound) at = close;
    return CallRead::Calls(at, {{name, Arguments(name, parameters)}});
  }

 private:
  std::string Arguments(const std::string& name, const std::vector<Parameter>& parameters) const {
    const auto schema = tools_->schemas.find(name);
    const ArgumentTypes types(schema == tools_->schemas.end() ? nullptr : schema->second);
    // If a parameter is repeated, the last one counts.
    std::unordered_map<std::string_view, const Parameter*> last;
    for (const Parameter& parameter : parameters) last[parameter.name] = &parameter;
    std::string json = "{";
    for (const Parameter& parameter : parameters) {
      if (last.at(parameter.name) != &parameter) continue;
      if (json.size() > 1) json += ", ";
      json += JsonString(parameter.name) + ": " + types.Value(parameter.name, parameter.value);
    }
    return json + "}";
  }

  const OfferedTools* const tools_;
};

}  // namespace

std::unique_ptr<CallSyntax> MakeQwenXmlCalls(const OfferedTools* tools) {
  return std::make_unique<QwenXmlCalls>(tools);
}

}  // namespace cairn
