// Methods of Python's texts and objects that templates call and the engine lacks, as functions
// whose first argument is the object.

#include <algorithm>
#include <minja/minja.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "chat/template/template_expression.h"
#include "chat/template/template_functions.h"

namespace cairn {
namespace {

using minja::ArgumentsValue;
using minja::Value;
using ContextPtr = std::shared_ptr<minja::Context>;
using Texts = std::vector<std::string>;

constexpr std::string_view kSpaces = " \t\n\r\f\v";

std::string MethodText(const Value& value, const char* method) {
  if (value.is_string()) return value.to_str();
  throw std::runtime_error(std::string(method) + " is a method of texts");
}

Value TemplateList(const Texts& texts) {
  Value list = Value::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

// The arguments behind the object, by place or by name; null where there is none.
Value Argument(ArgumentsValue& args, size_t index, const std::string& name) {
  return index < args.args.size() ? args.args[index] : args.get_named(name);
}

// Cuts at white space, any number of it, from the left or from the right.
Texts SplitAtSpaces(std::string_view text, int64_t cuts_max, bool from_right) {
  Texts parts;
  for (;;) {
    const size_t begin = text.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos) break;
    text = text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
    const size_t cut = from_right ? text.find_last_of(kSpaces) : text.find_first_of(kSpaces);
    if (cuts_max-- == 0 || cut == std::string_view::npos) {
      parts.emplace_back(text);
      break;
    }
    parts.emplace_back(from_right ? text.substr(cut + 1) : text.substr(0, cut));
    text = from_right ? text.substr(0, cut) : text.substr(cut + 1);
  }
  return parts;
}

Texts SplitAt(std::string_view text, std::string_view mark, int64_t cuts_max, bool from_right) {
  Texts parts;
  while (cuts_max-- != 0) {
    const size_t cut = from_right ? text.rfind(mark) : text.find(mark);
    if (cut == std::string_view::npos) break;
    const std::string_view behind = text.substr(cut + mark.size());
    parts.emplace_back(from_right ? behind : text.substr(0, cut));
    text = from_right ? text.substr(0, cut) : behind;
  }
  parts.emplace_back(text);
  return parts;
}

Value SplitText(ArgumentsValue& args, const char* method, bool from_right) {
  args.expectArgs(method, {1, 3}, {0, 2});
  const std::string text = MethodText(args.args[0], method);
  const Value mark = Argument(args, 1, "sep");
  const Value cuts = Argument(args, 2, "maxsplit");
  const int64_t cuts_max = cuts.is_null() ? -1 : cuts.to_int();
  if (mark.is_string() && mark.to_str().empty()) throw std::runtime_error("split at an empty text");
  Texts parts = mark.is_null() ? SplitAtSpaces(text, cuts_max, from_right)
                               : SplitAt(text, MethodText(mark, method), cuts_max, from_right);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return TemplateList(parts);
}

Value Split(const ContextPtr&, ArgumentsValue& args) {
  return SplitText(args, "split", false);
}
Value RightSplit(const ContextPtr&, ArgumentsValue& args) {
  return SplitText(args, "rsplit", true);
}

Value SplitLines(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("splitlines", {1, 1}, {0, 0});
  const std::string text = MethodText(args.args[0], "splitlines");
  Texts lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + (text.compare(end, 2, "\r\n") == 0 ? 2 : 1);
  }
  return TemplateList(lines);
}

Value JoinMethod(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("join", {2, 2}, {0, 0});
  const std::string between = MethodText(args.args[0], "join");
  std::string out;
  args.args[1].for_each([&, first = true](Value& item) mutable {
    out += (first ? "" : between) + MethodText(item, "join");
    first = false;
  });
  return out;
}

// {} and {0} and {name}; conversions and widths are not known.
Value Format(const ContextPtr& context, ArgumentsValue& args) {
  const std::string form = MethodText(args.args.empty() ? Value() : args.args[0], "format");
  std::string out;
  size_t next = 1;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] != '{' && form[i] != '}') {
      out += form[i];
    } else if (form.compare(i, 2, "{{") == 0 || form.compare(i, 2, "}}") == 0) {
      out += form[i++];
    } else {
      const size_t end = form.find('}', i);
      if (form[i] == '}' || end == std::string::npos) throw std::runtime_error("format: a brace");
      const std::string name = form.substr(i + 1, end - i - 1);
      const bool number = name.find_first_not_of("0123456789") == std::string::npos;
      if (number && name.size() > 3) throw std::runtime_error("format has no argument " + name);
      const size_t index = name.empty() ? next++ : number ? std::stoul(name) + 1 : args.args.size();
      if (index >= args.args.size() && !args.has_named(name)) {
        throw std::runtime_error("format has no argument {" + name + "}");
      }
      ArgumentsValue one;
      one.args.push_back(Argument(args, index, name));
      out += context->get("string").call(context, one).to_str();
      i = end;
    }
  }
  return out;
}

Value Find(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("find", {2, 2}, {0, 0});
  const size_t at = MethodText(args.args[0], "find").find(MethodText(args.args[1], "find"));
  return at == std::string::npos ? int64_t{-1} : static_cast<int64_t>(at);
}

Value ValuesMethod(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("values", {1, 1}, {0, 0});
  Value object = args.args[0];
  if (!object.is_object()) throw std::runtime_error("values is a method of objects");
  Value list = Value::array();
  for (const Value& key : object.keys()) list.push_back(object.at(key));
  return list;
}

Value RemovePrefix(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("removeprefix", {2, 2}, {0, 0});
  const std::string text = MethodText(args.args[0], "removeprefix");
  const std::string prefix = MethodText(args.args[1], "removeprefix");
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

Value RemoveSuffix(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("removesuffix", {2, 2}, {0, 0});
  const std::string text = MethodText(args.args[0], "removesuffix");
  const std::string suffix = MethodText(args.args[1], "removesuffix");
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

// As many as the last argument says, from the left.
Value ReplaceMethod(const ContextPtr&, ArgumentsValue& args) {
  args.expectArgs("replace", {3, 4}, {0, 1});
  const std::string text = MethodText(args.args[0], "replace");
  const std::string from = MethodText(args.args[1], "replace");
  const std::string to = MethodText(args.args[2], "replace");
  const Value count = Argument(args, 3, "count");
  int64_t left = count.is_null() ? -1 : count.to_int();
  if (from.empty()) return text;
  std::string replaced;
  size_t at = 0;
  while (left-- != 0) {
    const size_t found = text.find(from, at);
    if (found == std::string::npos) break;
    replaced.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return replaced.append(text, at, std::string::npos);
}

}  // namespace

void DefineTemplateMethods(minja::Context* context) {
  const auto define = [context](const char* method, const Value::CallableType& function) {
    context->set(std::string(kMethodPrefix) + method, Value::callable(function));
  };
  define("split", Split);
  define("rsplit", RightSplit);
  define("splitlines", SplitLines);
  define("join", JoinMethod);
  define("format", Format);
  define("find", Find);
  define("values", ValuesMethod);
  define("removeprefix", RemovePrefix);
  define("removesuffix", RemoveSuffix);
  define("replace", ReplaceMethod);
}

}  // namespace cairn
