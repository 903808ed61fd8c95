#include "chat/template/template_functions.h"

#include <algorithm>
#include <cctype>
#include <minja/minja.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "chat/parse/limited_json.h"
#include "chat/template/template_expression.h"

namespace cairn {
namespace {

using MinjaJson = nlohmann::ordered_json;
using minja::ArgumentsValue;
using minja::Value;
using ContextPtr = std::shared_ptr<minja::Context>;

constexpr size_t kDepthMax = 100;  // a template can put a list into itself

// A text in quotes as Python's repr writes it.
std::string Quoted(const std::string& text) {
  const bool doubled = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
  const char quote = doubled ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += std::string("\\") + c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += std::string("\\x") + kDigits[byte / 16U] + kDigits[byte % 16U];
    } else {
      out += c;
    }
  }
  return out + quote;
}

// As Python's repr writes it.
std::string Written(const Value& value, size_t depth) {
  if (depth > kDepthMax) throw std::runtime_error("a value is nested more than 100 levels deep");
  if (value.is_array()) {
    std::string out = "[";
    for (size_t i = 0; i < value.size(); ++i) {
      out += (i > 0 ? ", " : "") + Written(value.at(i), depth + 1);
    }
    return out + "]";
  }
  if (value.is_callable()) throw std::runtime_error("a function cannot be written as text");
  if (value.is_object()) {
    std::string out = "{";
    Value object = value;
    for (const Value& key : object.keys()) {
      out += (out.size() > 1 ? ", " : "") + Written(key, depth + 1) + ": " +
             Written(object.at(key), depth + 1);
    }
    return out + "}";
  }
  if (value.is_string()) return Quoted(value.to_str());
  return value.is_number_float() ? value.dump() : value.to_str();
}

// As Python's str writes it.
std::string Text(const Value& value) {
  return value.is_string() ? value.to_str() : Written(value, 0);
}

size_t CharacterBytes(const std::string& text, size_t begin) {
  size_t end = begin + 1;
  while (end < text.size() && IsContinuationByte(text[end])) ++end;
  return end - begin;
}

// Returns the printed text: nothing for a value that is not there, which the engine cannot tell
// from None.
Value Printed(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("cairn_text", {1, 1}, {0, 0});
  return args.args[0].is_null() ? "" : Text(args.args[0]);
}

// To the engine every object is true.
Value Truth(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("cairn_truth", {1, 1}, {0, 0});
  const Value& value = args.args[0];
  return value.is_object() && !value.is_callable() && value.empty() ? Value(false) : value;
}

// The item of a list or the character of a text at a place; nothing where there is none.
Value Item(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("cairn_item", {2, 2}, {0, 0});
  Value& object = args.args[0];
  if (object.is_null()) throw std::runtime_error("an item is taken of a value that is not there");
  const bool text = object.is_string();
  if (!text && !object.is_array()) return object.get(args.args[1]);
  const std::string bytes = text ? object.to_str() : "";
  const auto size = static_cast<int64_t>(text ? CountCharacters(bytes) : object.size());
  int64_t index = args.args[1].to_int();
  if (index < 0) index += size;
  if (index < 0 || index >= size) return {};
  if (!text) return object.at(static_cast<size_t>(index));
  size_t begin = 0;
  for (; index > 0; --index) begin += CharacterBytes(bytes, begin);
  return bytes.substr(begin, CharacterBytes(bytes, begin));
}

Value String(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("string", {1, 1}, {0, 0});
  return Text(args.args[0]);
}

// How tojson writes, in Python's words.
struct JsonStyle {
  int indent = -1;
  bool escape = false;
  bool sort = false;
  std::string between = ", ";
  std::string behind_key = ": ";
};

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style) : style_(std::move(style)) {}

  std::string Run(const MinjaJson& value) {
    Write(value, 0);
    return std::move(out_);
  }

 private:
  void Write(const MinjaJson& value, size_t level) {
    if (!value.is_structured() || value.empty()) {
      out_ += value.dump(-1, ' ', style_.escape, MinjaJson::error_handler_t::replace);
    } else if (value.is_array()) {
      out_ += '[';
      for (size_t i = 0; i < value.size(); ++i) {
        NewLine(i > 0, level + 1);
        Write(value[i], level + 1);
      }
      NewLine(false, level);
      out_ += ']';
    } else {
      WriteObject(value, level);
    }
  }

  void WriteObject(const MinjaJson& object, size_t level) {
    std::vector<std::pair<std::string, const MinjaJson*>> fields;
    for (const auto& [key, item] : object.items()) fields.emplace_back(key, &item);
    if (style_.sort) std::sort(fields.begin(), fields.end());
    out_ += '{';
    for (size_t i = 0; i < fields.size(); ++i) {
      NewLine(i > 0, level + 1);
      Write(fields[i].first, level + 1);
      out_ += style_.behind_key;
      Write(*fields[i].second, level + 1);
    }
    NewLine(false, level);
    out_ += '}';
  }

  void NewLine(bool behind_another, size_t level) {
    if (behind_another) out_ += style_.between;
    if (style_.indent < 0) return;
    out_ += '\n' + std::string(level * static_cast<size_t>(style_.indent), ' ');
  }

  const JsonStyle style_;
  std::string out_;
};

Value ToJson(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("tojson", {1, 2}, {0, 4});
  JsonStyle style;
  Value indent = args.args.size() == 2 ? args.args[1] : Value();
  Value separators;
  for (auto& [name, value] : args.kwargs) {
    if (name == "indent") indent = value;
    if (name == "ensure_ascii") style.escape = value.to_bool();
    if (name == "sort_keys") style.sort = value.to_bool();
    if (name == "separators") separators = value;
  }
  if (!indent.is_null()) {
    style.indent = static_cast<int>(std::clamp<int64_t>(indent.to_int(), -1, 8));
    if (style.indent >= 0) style.between = ",";
  }
  if (separators.is_array() && separators.size() == 2) {
    style.between = separators.at(size_t{0}).to_str();
    style.behind_key = separators.at(size_t{1}).to_str();
  }
  return JsonWriter(std::move(style)).Run(args.args[0].get<MinjaJson>());
}

Value FromJson(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("from_json", {1, 1}, {0, 0});
  if (!args.args[0].is_string()) throw std::runtime_error("from_json expects a text");
  Result<Json> parsed = ParseLimitedJson(args.args[0].to_str(), "a text for from_json");
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return TemplateValue(*parsed);
}

Value First(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("first", {1, 1}, {0, 0});
  Value& items = args.args[0];
  if (!items.is_array()) throw std::runtime_error("first expects a list");
  return items.empty() ? Value() : items.at(size_t{0});
}

Value Replace(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("replace", {3, 3}, {0, 0});
  const std::string text = Text(args.args[0]);
  const std::string from = args.args[1].to_str();
  const std::string to = args.args[2].to_str();
  if (from.empty()) return text;
  std::string replaced;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    replaced.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return replaced.append(text, at, std::string::npos);
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string Capitalized(const std::string& text) {
  return Upper(text.substr(0, 1)) + (text.empty() ? "" : Lower(text.substr(1)));
}

// A filter that turns one text into another; values of other kinds count as their text.
template <typename Change>
Value TextFilter(const char* name, Change change) {
  return Value::callable([name, change](const ContextPtr&, ArgumentsValue& args) -> Value {
    args.expectArgs(name, {1, 1}, {0, 0});
    return change(args.args[0].is_null() ? "" : Text(args.args[0]));
  });
}

Value Trim(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("trim", {1, 2}, {0, 1});
  const Value given = args.args.size() > 1 ? args.args[1] : args.get_named("chars");
  const std::string spaces = given.is_string() ? given.to_str() : std::string(" \t\n\r\f\v");
  const std::string text = args.args[0].is_null() ? "" : Text(args.args[0]);
  const size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(spaces) + 1 - begin);
}

bool Flag(ArgumentsValue& args, const std::string& name) {
  return args.has_named(name) && args.get_named(name).to_bool();
}

// Sorts without regard to case, unless it is asked for, as Jinja does.
template <typename KeyOf>
void SortValues(ArgumentsValue& args, KeyOf key_of, std::vector<Value>* values) {
  const bool case_sensitive = Flag(args, "case_sensitive");
  const auto key = [&](const Value& value) -> Value {
    Value found = key_of(value);
    return found.is_string() && !case_sensitive ? Value(Lower(found.to_str())) : found;
  };
  const auto before = [&](const Value& a, const Value& b) { return key(a) < key(b); };
  if (Flag(args, "reverse")) {
    std::stable_sort(values->begin(), values->end(),
                     [&](const Value& a, const Value& b) { return before(b, a); });
  } else {
    std::stable_sort(values->begin(), values->end(), before);
  }
}

Value DictSort(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("dictsort", {1, 1}, {0, 3});
  Value object = args.args[0];
  if (!object.is_object()) throw std::runtime_error("dictsort expects an object");
  std::vector<Value> pairs;
  for (const Value& key : object.keys()) pairs.push_back(Value::array({key, object.at(key)}));
  const bool by_value = args.has_named("by") && args.get_named("by").to_str() == "value";
  SortValues(args, [&](const Value& pair) { return pair.at(size_t{by_value ? 1U : 0U}); }, &pairs);
  return Value::array(pairs);
}

std::vector<Value> Items(const Value& list, const char* filter) {
  if (!list.is_array()) throw std::runtime_error(std::string(filter) + " expects a list");
  std::vector<Value> items;
  for (size_t i = 0; i < list.size(); ++i) items.push_back(list.at(i));
  return items;
}

Value Sort(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("sort", {1, 1}, {0, 3});
  std::vector<Value> items = Items(args.args[0], "sort");
  const Value attribute = args.get_named("attribute");
  SortValues(
      args,
      [&](const Value& item) {
        Value copy = item;
        return attribute.is_null() ? copy : copy.get(attribute);
      },
      &items);
  return Value::array(items);
}

Value Reverse(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("reverse", {1, 1}, {0, 0});
  std::vector<Value> items = Items(args.args[0], "reverse");
  std::reverse(items.begin(), items.end());
  return Value::array(items);
}

Value Float(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("float", {1, 1}, {0, 0});
  if (args.args[0].is_number()) return args.args[0].get<double>();
  try {
    return std::stod(Text(args.args[0]));
  } catch (const std::exception&) {
    return 0.0;
  }
}

}  // namespace

Value TemplateValue(const Json& json) {
  if (json.is_array()) {
    Value list = Value::array();
    for (const Json& item : json) list.push_back(TemplateValue(item));
    return list;
  }
  if (json.is_object()) {
    Value object = Value::object();
    for (const auto& [key, value] : json.items()) object.set(key, TemplateValue(value));
    return object;
  }
  if (json.is_string()) return json.text();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_number_unsigned()) return Value(MinjaJson(json.get<uint64_t>()));
  return json.is_number() ? Value(json.get<int64_t>()) : Value();
}

void DefineTemplateFunctions(minja::Context* context) {
  const auto define = [context](std::string_view name, Value value) {
    context->set(std::string(name), value);
  };
  define(kTextFunction, Value::callable(Printed));
  define(kItemFunction, Value::callable(Item));
  define(kTruthFunction, Value::callable(Truth));
  define("string", Value::callable(String));
  define("tojson", Value::callable(ToJson));
  define("from_json", Value::callable(FromJson));
  define("first", Value::callable(First));
  define("replace", Value::callable(Replace));
  define("trim", Value::callable(Trim));
  define("lower", TextFilter("lower", Lower));
  define("upper", TextFilter("upper", Upper));
  define("capitalize", TextFilter("capitalize", Capitalized));
  define("dictsort", Value::callable(DictSort));
  define("sort", Value::callable(Sort));
  define("reverse", Value::callable(Reverse));
  define("float", Value::callable(Float));
  DefineTemplateMethods(context);
}

}  // namespace cairn
