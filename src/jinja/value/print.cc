#include "jinja/value/print.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "jinja/value/number.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

constexpr int kPrintDepthMax = 400;

std::string Hex(const char* format, uint32_t code) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, code);
  return text.data();
}

// How Python writes a character of a text in quotes; empty if as it is.
std::string ReprEscape(uint32_t code, char quote) {
  if (code == '\\') return "\\\\";
  if (code == static_cast<uint32_t>(quote)) return std::string("\\") + quote;
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  if (IsPrintable(code)) return "";
  if (code < 0x100) return Hex("\\x%02x", code);
  return code < 0x10000 ? Hex("\\u%04x", code) : Hex("\\U%08x", code);
}

std::string JsonEscape(uint32_t code, bool ensure_ascii) {
  switch (code) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\f':
      return "\\f";
    case '\b':
      return "\\b";
    default:
      break;
  }
  if (code < 0x20) return Hex("\\u%04x", code);
  if (!ensure_ascii || code < 0x7F) return "";
  if (code < 0x10000) return Hex("\\u%04x", code);
  const uint32_t rest = code - 0x10000;
  return Hex("\\u%04x", 0xD800 + (rest >> 10U)) + Hex("\\u%04x", 0xDC00 + (rest & 0x3FFU));
}

std::string HtmlEscape(uint32_t code) {
  switch (code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&#39;";
    case '"':
      return "&#34;";
    default:
      return "";
  }
}

// Appends the text with what `escape` makes of its characters.
template <typename Escape>
void AppendWith(const Text& text, const Escape& escape, TextBuilder* out) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Character character = CharacterAt(bytes, at);
    const std::string escaped = escape(character.code);
    if (!escaped.empty()) {
      out->Append(text, begin, at);
      out->AppendChanged(escaped, text, at);
      begin = at + character.bytes;
    }
    at += character.bytes;
  }
  out->Append(text, begin, bytes.size());
}

class Printer {
 public:
  explicit Printer(TextBuilder* out) : out_(*out) {}

  void Repr(const Value& value, int depth) {
    if (depth > kPrintDepthMax) Raise("a value is nested too deep to be printed");
    out_.Step();
    switch (value.kind()) {
      case Kind::kUndefined:
        return out_.AppendMade("Undefined");
      case Kind::kText:
        return ReprText(value.text());
      case Kind::kList:
        return Items(value.items(), "[", "]", depth);
      case Kind::kTuple:
        return Items(value.items(), "(", value.items().size() == 1 ? ",)" : ")", depth);
      case Kind::kDict:
        return Dict(value.dict(), depth);
      case Kind::kDictView:
        return View(value.as<DictViewObject>(), depth);
      case Kind::kNamespace:
        out_.AppendMade("<Namespace ");
        Dict(value.as<NamespaceObject>().attributes, depth);
        return out_.AppendMade(">");
      default:
        return out_.AppendMade(Simple(value));
    }
  }

  static std::string Simple(const Value& value) {
    switch (value.kind()) {
      case Kind::kNone:
        return "None";
      case Kind::kBool:
        return value.boolean() ? "True" : "False";
      case Kind::kInt:
        return IntText(value.integer());
      case Kind::kFloat:
        return FloatText(value.floating());
      case Kind::kRange: {
        const auto& range = value.as<RangeObject>();
        std::string text = "range(" + IntText(range.begin) + ", " + IntText(range.end);
        if (range.step != 1) text += ", " + IntText(range.step);
        return text + ")";
      }
      default:
        return std::string("<") + TypeName(value) + " object>";
    }
  }

 private:
  void ReprText(const Text& text) {
    const std::string_view bytes = text.bytes();
    const bool single =
        bytes.find('\'') == std::string_view::npos || bytes.find('"') != std::string_view::npos;
    const char quote = single ? '\'' : '"';
    if (text.safe()) out_.AppendMade("Markup(");
    out_.AppendMade(std::string_view(&quote, 1));
    AppendWith(text, [quote](uint32_t code) { return ReprEscape(code, quote); }, &out_);
    out_.AppendMade(std::string_view(&quote, 1));
    if (text.safe()) out_.AppendMade(")");
  }

  void Items(const std::vector<Value>& items, const char* open, const char* close, int depth) {
    out_.AppendMade(open);
    bool first = true;
    for (const Value& item : items) {
      if (!first) out_.AppendMade(", ");
      first = false;
      Repr(item, depth + 1);
    }
    out_.AppendMade(close);
  }

  void Dict(const DictObject& dict, int depth) {
    out_.AppendMade("{");
    bool first = true;
    for (const auto& [key, item] : dict.items) {
      if (!first) out_.AppendMade(", ");
      first = false;
      Repr(key, depth + 1);
      out_.AppendMade(": ");
      Repr(item, depth + 1);
    }
    out_.AppendMade("}");
  }

  void View(const DictViewObject& view, int depth) {
    constexpr std::array<const char*, 3> kNames = {"dict_keys([", "dict_values([", "dict_items(["};
    out_.AppendMade(kNames[static_cast<size_t>(view.of)]);
    bool first = true;
    for (const auto& [key, item] : view.dict.dict().items) {
      if (!first) out_.AppendMade(", ");
      first = false;
      if (view.of == DictViewObject::Of::kItems) {
        Items({key, item}, "(", ")", depth);
      } else {
        Repr(view.of == DictViewObject::Of::kKeys ? key : item, depth + 1);
      }
    }
    out_.AppendMade("])");
  }

  TextBuilder& out_;
};

class JsonPrinter {
 public:
  JsonPrinter(const JsonStyle& style, TextBuilder* out) : style_(style), out_(*out) {
    item_separator_ = style.indent ? "," : ", ";
    key_separator_ = ": ";
    if (style.separators) std::tie(item_separator_, key_separator_) = *style.separators;
  }

  void Print(const Value& value, int depth) {
    if (depth > kPrintDepthMax) Raise("a value is nested too deep to be printed");
    out_.Step();
    switch (value.kind()) {
      case Kind::kNone:
        return out_.AppendMade("null");
      case Kind::kBool:
        return out_.AppendMade(value.boolean() ? "true" : "false");
      case Kind::kInt:
        return out_.AppendMade(IntText(value.integer()));
      case Kind::kFloat:
        return out_.AppendMade(JsonFloat(value.floating()));
      case Kind::kText:
        return String(value.text());
      case Kind::kList:
      case Kind::kTuple:
        return List(value.items(), depth);
      case Kind::kDict:
        return Dict(value.dict(), depth);
      default:
        Raise(std::string("Object of type ") + TypeName(value) + " is not JSON serializable");
    }
  }

 private:
  static std::string JsonFloat(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return FloatText(value);
  }

  void String(const Text& text) {
    out_.AppendMade("\"");
    const bool ascii = style_.ensure_ascii;
    AppendWith(text, [ascii](uint32_t code) { return JsonEscape(code, ascii); }, &out_);
    out_.AppendMade("\"");
  }

  void NewLine(int depth) {
    if (!style_.indent) return;
    std::string line = "\n";
    for (int i = 0; i < depth; ++i) line += *style_.indent;
    out_.AppendMade(line);
  }

  void List(const std::vector<Value>& items, int depth) {
    if (items.empty()) return out_.AppendMade("[]");
    out_.AppendMade("[");
    bool first = true;
    for (const Value& item : items) {
      if (!first) out_.AppendMade(item_separator_);
      first = false;
      NewLine(depth + 1);
      Print(item, depth + 1);
    }
    NewLine(depth);
    out_.AppendMade("]");
  }

  void Key(const Value& key) {
    switch (key.kind()) {
      case Kind::kText:
        return String(key.text());
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kFloat:
        out_.AppendMade("\"");
        Print(key, 0);
        return out_.AppendMade("\"");
      default:
        Raise(std::string("keys must be str, int, float, bool or None, not ") + TypeName(key));
    }
  }

  void Dict(const DictObject& dict, int depth) {
    if (dict.items.empty()) return out_.AppendMade("{}");
    std::vector<const std::pair<Value, Value>*> members;
    for (const auto& member : dict.items) members.push_back(&member);
    if (style_.sort_keys) {
      std::stable_sort(members.begin(), members.end(),
                       [](const auto* a, const auto* b) { return Less(a->first, b->first); });
    }
    out_.AppendMade("{");
    bool first = true;
    for (const auto* member : members) {
      if (!first) out_.AppendMade(item_separator_);
      first = false;
      NewLine(depth + 1);
      Key(member->first);
      out_.AppendMade(key_separator_);
      Print(member->second, depth + 1);
    }
    NewLine(depth);
    out_.AppendMade("}");
  }

  const JsonStyle& style_;
  TextBuilder& out_;
  std::string item_separator_;
  std::string key_separator_;
};

}  // namespace

void AppendTextOf(const Value& value, TextBuilder* out) {
  if (value.is_text()) return out->Append(value.text());
  if (!value.is_undefined()) AppendRepr(value, out);
}

Text TextOf(Heap* heap, const Value& value) {
  if (value.is_text() && !value.text().safe()) return value.text();
  TextBuilder out(heap);
  AppendTextOf(value, &out);
  return out.Build();
}

void AppendRepr(const Value& value, TextBuilder* out) {
  Printer(out).Repr(value, 0);
}

void AppendJson(const Value& value, const JsonStyle& style, TextBuilder* out) {
  JsonPrinter(style, out).Print(value, 0);
}

void AppendEscaped(const Text& text, TextBuilder* out) {
  AppendWith(text, HtmlEscape, out);
}

}  // namespace cairn::jinja
