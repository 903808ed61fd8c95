// MiniMax M3: nested XML with a control token before every tag. M stands for that token,
// "]<]minimax[>[":
//
//   M<tool_call>
//   M<invoke name="weather">
//     M<city>RomeM</city>
//     M<list>M<item>1M</item>M<item>2M</item>M</list>
//   M</invoke>
//   M</tool_call>
//
// The tool's schema gives the JSON types of bare text; elements called "item" form a list.

#include <algorithm>
#include <array>
#include <string>

#include "base/json.h"
#include "chat/calls/argument_types.h"
#include "chat/calls/calls_json.h"
#include "chat/calls/calls_syntax.h"
#include "chat/text/calls_scan.h"

namespace cairn {
namespace {

constexpr std::string_view kMark = "]<]minimax[>[";
constexpr std::array<CallBegin, 1> kMiniMaxBegins = {{{"]<]minimax[>[<tool_call>"}}};

struct Element {
  std::string name;
  std::string text;  // if it has no child elements
  std::vector<Element> inside;
};

// Reads from after the element's opening tag to after its closing tag.
Scan TakeElement(std::string_view text, size_t depth, size_t* at, Element* element) {
  const std::string close = "</" + element->name + ">";
  while (true) {
    const size_t mark = text.find(kMark, *at);
    if (mark == std::string_view::npos) return Scan::kMore;
    size_t i = mark + kMark.size();
    const Scan closed = TakeWord(text, close, &i);
    if (closed == Scan::kFound) {
      if (element->inside.empty()) element->text = text.substr(*at, mark - *at);
      *at = i;
    }
    if (closed != Scan::kNotHere) return closed;
    if (depth == 0 || i >= text.size() || text[i] != '<') return Scan::kNotHere;
    const size_t end = text.find('>', i);
    if (end == std::string_view::npos) {
      return text.size() - i > kCallNameBytesMax ? Scan::kNotHere : Scan::kMore;
    }
    Element child{.name = std::string(text.substr(i + 1, end - i - 1)), .text = {}, .inside = {}};
    if (child.name.empty() || child.name[0] == '/') return Scan::kNotHere;
    *at = end + 1;
    const Scan scan = TakeElement(text, depth - 1, at, &child);
    if (scan != Scan::kFound) return scan;
    element->inside.push_back(std::move(child));
  }
}

std::string ValueOf(const Element& element, const Json& schema);

std::string ObjectOf(const Element& element, const Json& schema) {
  const Json properties = schema.is_object() ? schema.value("properties", Json()) : Json();
  std::string json;
  for (const Element& member : element.inside) {
    const bool known = properties.is_object() && properties.contains(member.name);
    json += (json.empty() ? "" : ", ") + JsonString(member.name) + ": " +
            ValueOf(member, known ? properties[member.name] : Json());
  }
  return "{" + json + "}";
}

std::string ListOf(const Element& element, const Json& schema) {
  const Json items = schema.is_object() ? schema.value("items", Json()) : Json();
  std::string json;
  for (const Element& item : element.inside) {
    json += (json.empty() ? "" : ", ") + ValueOf(item, items);
  }
  return "[" + json + "]";
}

std::string ValueOf(const Element& element, const Json& schema) {
  const Json type = schema.is_object() ? schema.value("type", Json()) : Json();
  const bool items = !element.inside.empty() &&
                     std::all_of(element.inside.begin(), element.inside.end(),
                                 [](const Element& inside) { return inside.name == "item"; });
  const bool bare = element.inside.empty();
  if (type == Json("array") && (items || (bare && element.text.empty()))) {
    return ListOf(element, schema);
  }
  if (type == Json("object") && (!bare || element.text.empty())) return ObjectOf(element, schema);
  if (items) return ListOf(element, schema);
  if (!bare) return ObjectOf(element, schema);
  if (!schema.is_object()) {
    // The type is unknown: accept a value that a template would write the same way again.
    const Json value = Json::parse(element.text, nullptr, /*allow_exceptions=*/false);
    const bool same = !value.is_discarded() && !value.is_null() && value.dump() == element.text;
    return same && !value.is_string() ? element.text : JsonString(element.text);
  }
  const Json one = {{"properties", {{"value", schema}}}};
  return ArgumentTypes(&one).Value("value", element.text);
}

class MiniMaxCalls final : public CallSyntax {
 public:
  explicit MiniMaxCalls(const OfferedTools* tools) : tools_(tools) {}

  std::span<const CallBegin> begins() const override { return kMiniMaxBegins; }
  std::string_view last_bytes() const override { return ">"; }

  CallRead Read(std::string_view text, bool finished) const override {
    size_t at = kMiniMaxBegins[0].text.size();
    std::vector<FoundCall> calls;
    Scan scan = Scan::kFound;
    while (scan == Scan::kFound) {
      size_t next = SkipWhiteSpace(text, at);
      scan = TakeWord(text, std::string(kMark) + "</tool_call>", &next);
      if (scan == Scan::kFound && !calls.empty()) return CallRead::Calls(next, std::move(calls));
      // An answer may end before the last tag: the calls are complete.
      if (scan == Scan::kMore && finished && !calls.empty()) {
        return CallRead::Calls(text.size(), std::move(calls));
      }
      const Scan close = scan;
      scan = TakeInvoke(text, &at, &calls);
      if (scan == Scan::kNotHere && close == Scan::kMore) return CallRead::More();
    }
    return scan == Scan::kMore ? CallRead::More() : CallRead::Text(kMiniMaxBegins[0].text.size());
  }

 private:
  Scan TakeInvoke(std::string_view text, size_t* at, std::vector<FoundCall>* calls) const {
    size_t i = SkipWhiteSpace(text, *at);
    const Scan open = TakeWord(text, std::string(kMark) + "<invoke name=\"", &i);
    if (open != Scan::kFound) return open;
    const size_t end = text.find_first_of("\"\n", i);
    if (end == std::string_view::npos) return Scan::kMore;
    const std::string name(text.substr(i, end - i));
    i = end;
    const Scan named = TakeWord(text, "\">", &i);
    if (named != Scan::kFound) return named;
    const auto schema = tools_->schemas.find(name);
    if (schema == tools_->schemas.end()) return Scan::kNotHere;
    Element invoke{.name = "invoke", .text = {}, .inside = {}};
    const Scan scan = TakeElement(text, JsonLimits().depth_max, &i, &invoke);
    if (scan != Scan::kFound) return scan;
    const Json none = Json::object();
    calls->push_back({name, ObjectOf(invoke, schema->second != nullptr ? *schema->second : none)});
    *at = i;
    return scan;
  }

  const OfferedTools* const tools_;
};

}  // namespace

std::unique_ptr<CallSyntax> MakeMiniMaxCalls(const OfferedTools* tools) {
  return std::make_unique<MiniMaxCalls>(tools);
}

}  // namespace cairn
