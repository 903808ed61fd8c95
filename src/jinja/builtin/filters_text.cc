// Filters of texts.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "jinja/builtin/text_work.h"
#include "jinja/run/builtins.h"
#include "jinja/value/print.h"
#include "jinja/value/text.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

// HTML in texts.

std::string Without(std::string_view text, std::string_view open, std::string_view close) {
  std::string kept;
  size_t at = 0;
  while (true) {
    const size_t begin = text.find(open, at);
    const size_t end = begin == std::string_view::npos ? begin : text.find(close, begin);
    if (end == std::string_view::npos) return kept.append(text.substr(at));
    kept.append(text.substr(at, begin - at));
    at = end + close.size();
  }
}

std::string SingleSpaced(std::string_view text) {
  std::string spaced;
  bool pending = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (IsSpace(character.code)) {
      pending = !spaced.empty();
    } else {
      if (pending) spaced += ' ';
      pending = false;
      spaced += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return spaced;
}

// The character of "#60" or "lt"; 0 if it is not known.
uint32_t EntityOf(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kNames[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}};
  for (const auto& [known, code] : kNames) {
    if (known == name) return code;
  }
  if (name.size() < 2 || name[0] != '#') return 0;
  const bool hex = name[1] == 'x' || name[1] == 'X';
  uint32_t code = 0;
  for (const char c : name.substr(hex ? 2 : 1)) {
    const char lower = static_cast<char>(c | 0x20);
    const bool letter = hex && lower >= 'a' && lower <= 'f';
    if (!letter && (c < '0' || c > '9')) return 0;
    code = code * (hex ? 16 : 10) + static_cast<uint32_t>(letter ? lower - 'a' + 10 : c - '0');
    if (code > 0x10FFFF) return 0xFFFD;
  }
  return code;
}

std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text[at] == '&' ? text.find(';', at) : std::string_view::npos;
    const uint32_t code = end == std::string_view::npos || end - at > 12
                              ? 0
                              : EntityOf(text.substr(at + 1, end - at - 1));
    if (code == 0) {
      plain += text[at++];
    } else {
      AppendCharacter(code, &plain);
      at = end + 1;
    }
  }
  return plain;
}

// str(value), but markup stays so.
Text Soft(Interpreter& run, const Value& value) {
  return value.is_text() ? value.text() : TextOf(&run.heap(), value);
}

Text SafeText(Interpreter& run, const Value& value) {
  TextBuilder out(&run.heap());
  AppendTextOf(value, &out);
  out.set_safe(true);
  return out.Build();
}

template <Case kCase>
Value ToCaseFilter(Interpreter& run, const Value& value, const Bound&) {
  return Value::Of(InCase(&run.heap(), Soft(run, value), kCase));
}

Value CapitalizeFilter(Interpreter& run, const Value& value, const Bound&) {
  return Value::Of(Capitalized(&run.heap(), Soft(run, value)));
}

bool SplitsWords(uint32_t code) {
  return code == '-' || code == '(' || code == '{' || code == '[' || code == '<' || IsSpace(code);
}

Value TitleFilter(Interpreter& run, const Value& value, const Bound&) {
  const Text text = Soft(run, value);
  TextBuilder out(&run.heap());
  bool begins = true;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.bytes(), at);
    const size_t behind = at + character.bytes;
    AppendInCase(text, at, behind, begins ? Case::kUpper : Case::kLower, &out);
    begins = SplitsWords(character.code);
    at = behind;
  }
  return Value::Of(out.Build());
}

Value CenterFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const size_t width = bound[0] == nullptr ? 80 : CountOf(*bound[0], SIZE_MAX / 64);
  return Value::Of(Centered(&run.heap(), Soft(run, value), width));
}

Value EscapeFilter(Interpreter& run, const Value& value, const Bound&) {
  if (value.is_text() && value.text().safe()) return value;
  TextBuilder out(&run.heap());
  AppendEscaped(TextOf(&run.heap(), value), &out);
  out.set_safe(true);
  return Value::Of(out.Build());
}

Value ForceEscapeFilter(Interpreter& run, const Value& value, const Bound&) {
  TextBuilder out(&run.heap());
  AppendEscaped(TextOf(&run.heap(), value), &out);
  out.set_safe(true);
  return Value::Of(out.Build());
}

Value SafeFilter(Interpreter& run, const Value& value, const Bound&) {
  return Value::Of(SafeText(run, value));
}

Value StringFilter(Interpreter& run, const Value& value, const Bound&) {
  return Value::Of(Soft(run, value));
}

Value FormatFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const Arguments& all = bound.all();
  if (!all.places.empty() && !all.names.empty()) {
    Raise("can't handle positional and keyword arguments at the same time");
  }
  if (all.names.empty()) {
    return FormatPercent(run, Soft(run, value), MakeTuple(&run.heap(), all.places));
  }
  auto* const names = run.heap().New<DictObject>();
  for (const auto& [name, given] : all.names) names->Set(run.Made(name), given);
  return FormatPercent(run, Soft(run, value), Value::Of(Kind::kDict, names));
}

Value ReplaceFilter(Interpreter& run, const Value& value, const Bound& bound) {
  Heap* const heap = &run.heap();
  const Int count = bound[2] == nullptr || bound[2]->is_none() ? -1 : IntegerOf(*bound[2]);
  return Value::Of(
      Replaced(heap, TextOf(heap, value), TextOf(heap, *bound[0]), TextOf(heap, *bound[1]), count));
}

Value TrimFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const Text text = Soft(run, value);
  if (bound[0] == nullptr || bound[0]->is_none()) {
    return Value::Of(Stripped(text, nullptr, Side::kBoth));
  }
  const Text characters = TextArgument(*bound[0], "strip arg");
  const std::string_view bytes = characters.bytes();
  return Value::Of(Stripped(text, &bytes, Side::kBoth));
}

Value IndentFilter(Interpreter& run, const Value& value, const Bound& bound) {
  Heap* const heap = &run.heap();
  const Text text = TextArgument(value, "indent's value");
  Text indent;
  if (bound[0] != nullptr && bound[0]->is_text()) {
    indent = bound[0]->text();
  } else {
    indent = Padded(heap, Text(), bound[0] == nullptr ? 4 : CountOf(*bound[0], SIZE_MAX / 64), 0);
  }
  const bool first = bound.Flag(1);
  const bool blank = bound.Flag(2);
  TextBuilder with_end(heap);
  with_end.Append(text);
  with_end.AppendMade("\n");
  TextBuilder out(heap);
  bool is_first = true;
  for (const Text& line : Lines(with_end.Build(), false)) {
    if (!is_first) out.AppendMade("\n");
    if (is_first ? first : blank || !line.empty()) out.Append(indent);
    out.Append(line);
    is_first = false;
  }
  out.set_safe(text.safe());
  return Value::Of(out.Build());
}

Value TruncateFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const Int length = bound[0] == nullptr ? 255 : IntegerOf(*bound[0]);
  const Text end = bound[2] == nullptr ? run.Made("...").text() : TextArgument(*bound[2], "end");
  const Int leeway = bound[3] == nullptr || bound[3]->is_none() ? 5 : IntegerOf(*bound[3]);
  const auto end_length = static_cast<Int>(end.length());
  if (length < end_length) Raise("expected length >= " + std::to_string(end.length()));
  if (leeway < 0) Raise("expected leeway >= 0");
  if (static_cast<Int>(LengthOf(value)) <= length + leeway) return value;
  const Text text = TextArgument(value, "truncate's value");
  Text kept = Part(text, 0, text.ByteOf(static_cast<size_t>(length - end_length)));
  if (!bound.Flag(1)) {
    const size_t space = FindLastIn(kept.bytes(), " ");
    if (space != std::string_view::npos) kept = Part(kept, 0, space);
  }
  return Operate(run, Arithmetic::kAdd, Value::Of(kept), Value::Of(end));
}

Value WordCountFilter(Interpreter& run, const Value& value, const Bound&) {
  const Text text = Soft(run, value);
  Int count = 0;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.bytes(), at);
    at += character.bytes;
    const bool is_word =
        character.code == '_' || IsAlpha(character.code) || IsNumeric(character.code);
    if (is_word && !in_word) ++count;
    in_word = is_word;
  }
  return Value::Integer(count);
}

Value WordWrapFilter(Interpreter& run, const Value& value, const Bound& bound) {
  const Text text = TextArgument(value, "wordwrap's value");
  const Int width = bound[0] == nullptr ? 79 : IntegerOf(*bound[0]);
  const bool breaks = bound[1] == nullptr || IsTrue(*bound[1]);
  const Text between = bound[2] == nullptr || bound[2]->is_none() ? run.Made("\n").text()
                                                                  : TextArgument(*bound[2], "it");
  const bool hyphens = bound[3] == nullptr || IsTrue(*bound[3]);
  TextBuilder out(&run.heap());
  bool first = true;
  for (const Text& paragraph : Lines(text, false)) {
    if (!first) out.Append(between);
    first = false;
    out.Append(Joined(&run.heap(), between,
                      WrappedLines(&run.heap(), paragraph,
                                   {.width = width, .breaks_words = breaks, .at_hyphens = hyphens}),
                      false));
  }
  return Value::Of(out.Build());
}

void AppendQuoted(const Text& text, bool for_query, TextBuilder* out) {
  constexpr std::string_view kPlain = "_.-~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (IsAlpha(byte) || IsDecimal(byte) ||
                                       kPlain.find(c) != std::string_view::npos);
    if (plain || (c == '/' && !for_query)) {
      out->Append(text, at, at + 1);
    } else if (c == ' ' && for_query) {
      out->AppendChanged("+", text, at);
    } else {
      const std::string quoted = {'%', kHex[byte >> 4U], kHex[byte & 15U]};
      out->AppendChanged(quoted, text, at);
    }
  }
}

Value UrlEncodeFilter(Interpreter& run, const Value& value, const Bound&) {
  TextBuilder out(&run.heap());
  if (value.is_text() || !IsIterable(value)) {
    AppendQuoted(TextOf(&run.heap(), value), false, &out);
    return Value::Of(out.Build());
  }
  Heap* const heap = &run.heap();
  bool first = true;
  const auto pair = [&](const Value& key, const Value& item) {
    if (!first) out.AppendMade("&");
    first = false;
    AppendQuoted(TextOf(heap, key), true, &out);
    out.AppendMade("=");
    AppendQuoted(TextOf(heap, item), true, &out);
  };
  if (value.is_dict()) {
    for (const auto& [key, item] : value.dict().items) pair(key, item);
  } else {
    for (const Value& both : ItemsOf(heap, value)) {
      const std::vector<Value> items = ItemsOf(heap, both);
      if (items.size() != 2) Raise("expected pairs of a key and a value");
      pair(items[0], items[1]);
    }
  }
  return Value::Of(out.Build());
}

Value StripTagsFilter(Interpreter& run, const Value& value, const Bound&) {
  return run.Made(WithoutTags(TextOf(&run.heap(), value).bytes()));
}

Value XmlAttrFilter(Interpreter& run, const Value& value, const Bound& bound) {
  if (!value.is_dict()) Raise("xmlattr expects a mapping");
  TextBuilder out(&run.heap());
  Heap* const heap = &run.heap();
  const bool spaced = bound[0] == nullptr || IsTrue(*bound[0]);
  for (const auto& [key, item] : value.dict().items) {
    if (item.is_none() || item.is_undefined()) continue;
    const Text name = TextArgument(key, "an attribute's name");
    if (name.bytes().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      Raise("Invalid character in attribute name");
    }
    if (out.size() > 0 || spaced) out.AppendMade(" ");
    AppendEscaped(name, &out);
    out.AppendMade("=\"");
    if (item.is_text() && item.text().safe()) {
      out.Append(item.text());
    } else {
      AppendEscaped(TextOf(heap, item), &out);
    }
    out.AppendMade("\"");
  }
  return Value::Of(out.Build());
}

Value UrlizeFilter(Interpreter&, const Value&, const Bound&) {
  Raise("the filter urlize is not supported");
}

}  // namespace

std::string WithoutTags(std::string_view html) {
  return Unescaped(SingleSpaced(Without(Without(html, "<!--", "-->"), "<", ">")));
}

constexpr FilterDefinition kTextFilters[] = {
    {"trim", "chars=", TrimFilter},
    {"replace", "old,new,count=", ReplaceFilter},
    {"string", "", StringFilter},
    {"lower", "", ToCaseFilter<Case::kLower>},
    {"upper", "", ToCaseFilter<Case::kUpper>},
    {"title", "", TitleFilter},
    {"capitalize", "", CapitalizeFilter},
    {"indent", "width=,first=,blank=", IndentFilter},
    {"safe", "", SafeFilter},
    {"e", "", EscapeFilter},
    {"escape", "", EscapeFilter},
    {"forceescape", "", ForceEscapeFilter},
    {"format", "*", FormatFilter},
    {"center", "width=", CenterFilter},
    {"truncate", "length=,killwords=,end=,leeway=", TruncateFilter},
    {"wordcount", "", WordCountFilter},
    {"wordwrap", "width=,break_long_words=,wrapstring=,break_on_hyphens=", WordWrapFilter},
    {"urlencode", "", UrlEncodeFilter},
    {"striptags", "", StripTagsFilter},
    {"xmlattr", "autospace=", XmlAttrFilter},
    {"urlize", "*", UrlizeFilter},
    {nullptr, nullptr, nullptr}};

}  // namespace cairn::jinja
