#include "chat/calls/calls_json.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

// All bytes of JSON outside strings and brackets. Any other byte shows early that the text is not
// JSON.
constexpr std::string_view kOutsideStrings = " \t\r\n,:+-.0123456789truefalsnE";

// Skips the string whose opening quote is at `at`.
Scan SkipString(std::string_view text, size_t* at) {
  for (size_t i = *at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      *at = i + 1;
      return Scan::kFound;
    } else if (static_cast<unsigned char>(text[i]) < 0x20) {
      return Scan::kNotHere;
    }
  }
  return Scan::kMore;
}

// Skips a value of any type. REQUIRES: the text is valid JSON.
void SkipValue(std::string_view json, size_t* at) {
  if (json[*at] == '"') {
    SkipString(json, at);
  } else if (json[*at] == '{' || json[*at] == '[') {
    SkipJson(json, at);
  } else {
    *at = std::min(json.find_first_of(",]} \t\r\n", *at), json.size());
  }
}

std::optional<std::string> StringValue(std::string_view json) {
  if (!json.starts_with('"')) return std::nullopt;
  const auto value = ParseLimitedJson(json, "a call");
  if (!value) return std::nullopt;
  return value->get<std::string>();
}

// Returns the arguments as the text of an object. Some models write that text as a string.
std::optional<std::string> ArgumentsText(std::string_view json) {
  if (json.starts_with('{')) return std::string(json);
  std::optional<std::string> inside = StringValue(json);
  if (inside && !IsJsonObject(*inside)) return std::nullopt;
  return inside;
}

bool AddCall(std::string_view json, std::vector<FoundCall>* calls) {
  if (!json.starts_with('{')) return false;
  auto call = CallOfObject(json);
  if (!call) return false;
  calls->push_back(*std::move(call));
  return true;
}

}  // namespace

Scan SkipJson(std::string_view text, size_t* at) {
  size_t depth = 0;
  for (size_t i = *at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const Scan string = SkipString(text, &i);
      if (string != Scan::kFound) return string;
      --i;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        *at = i + 1;
        return Scan::kFound;
      }
    } else if (kOutsideStrings.find(c) == std::string_view::npos) {
      return Scan::kNotHere;
    }
  }
  return Scan::kMore;
}

// Its members are cut out of the text instead of being parsed and
// printed, because a client sends arguments back as it got them, and they must then be what the
// model wrote.
std::optional<FoundCall> CallOfObject(std::string_view json) {
  std::optional<std::string> name;
  std::optional<std::string> arguments;
  for (size_t at = SkipWhiteSpace(json, 1); json[at] != '}'; at = SkipWhiteSpace(json, at)) {
    if (json[at] == ',') at = SkipWhiteSpace(json, at + 1);
    const size_t key_begin = at;
    SkipString(json, &at);
    const auto key = StringValue(json.substr(key_begin, at - key_begin));
    at = SkipWhiteSpace(json, at);  // the colon
    at = SkipWhiteSpace(json, at + 1);
    const size_t value_begin = at;
    SkipValue(json, &at);
    const std::string_view value = json.substr(value_begin, at - value_begin);
    if (key == "name") name = StringValue(value);
    if (key == "arguments" || key == "parameters") arguments = ArgumentsText(value);
  }
  if (!name || name->empty() || !arguments) return std::nullopt;
  return FoundCall{*std::move(name), *std::move(arguments)};
}

Scan TakeJsonCalls(std::string_view text, size_t* at, std::vector<FoundCall>* calls) {
  const size_t begin = SkipWhiteSpace(text, *at);
  if (begin == text.size()) return Scan::kMore;
  if (text[begin] != '{' && text[begin] != '[') return Scan::kNotHere;
  size_t end = begin;
  const Scan scan = SkipJson(text, &end);
  if (scan != Scan::kFound) return scan;
  const std::string_view json = text.substr(begin, end - begin);
  if (!ParseLimitedJson(json, "a call")) return Scan::kNotHere;
  *at = end;
  if (json[0] == '{') return AddCall(json, calls) ? Scan::kFound : Scan::kNotHere;
  const size_t before = calls->size();
  for (size_t i = SkipWhiteSpace(json, 1); json[i] != ']'; i = SkipWhiteSpace(json, i)) {
    if (json[i] == ',') i = SkipWhiteSpace(json, i + 1);
    const size_t item = i;
    SkipValue(json, &i);
    if (!AddCall(json.substr(item, i - item), calls)) return Scan::kNotHere;
  }
  return calls->size() > before ? Scan::kFound : Scan::kNotHere;
}

bool IsJsonObject(std::string_view text) {
  const auto json = ParseLimitedJson(text, "arguments");
  return json && json->is_object();
}

std::string JsonString(std::string_view content) {
  return ToText(Json(content));
}

}  // namespace cairn
