// Texts of values, as Python's str(), repr() and json.dumps() make them. They keep the origins of
// the texts inside. Raise Failures.

#ifndef CAIRN_JINJA_VALUE_PRINT_H_
#define CAIRN_JINJA_VALUE_PRINT_H_

#include <optional>
#include <string>
#include <string_view>

#include "jinja/value/value.h"

namespace cairn::jinja {

// str(value)
Text TextOf(Heap* heap, const Value& value);
void AppendTextOf(const Value& value, TextBuilder* out);
// repr(value)
void AppendRepr(const Value& value, TextBuilder* out);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent = {};
  std::optional<std::pair<std::string, std::string>> separators = {};  // of items, of keys
};

// json.dumps(value)
void AppendJson(const Value& value, const JsonStyle& style, TextBuilder* out);

// The text with &, <, >, ' and " written for HTML.
void AppendEscaped(const Text& text, TextBuilder* out);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_VALUE_PRINT_H_
