// Methods of Python's str.

#include <algorithm>
#include <string>
#include <utility>

#include "jinja/builtin/text_work.h"
#include "jinja/run/builtins.h"
#include "jinja/value/print.h"
#include "jinja/value/unicode.h"

namespace cairn::jinja {
namespace {

constexpr size_t kNotFound = std::string_view::npos;
constexpr size_t kPaddingMax = SIZE_MAX / 64;

Int CountArgument(const Value* value) {
  return value == nullptr ? -1 : IntegerOf(*value);
}

Value List(Interpreter& run, std::vector<Value> items) {
  return MakeList(&run.heap(), std::move(items));
}

template <Case kCase>
Value ToCase(Interpreter& run, const Value& self, const Bound&) {
  return Value::Of(InCase(&run.heap(), self.text(), kCase));
}

Value Capitalize(Interpreter& run, const Value& self, const Bound&) {
  return Value::Of(Capitalized(&run.heap(), self.text()));
}

Value Title(Interpreter& run, const Value& self, const Bound&) {
  const Text text = self.text();
  TextBuilder out(&run.heap());
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.bytes(), at);
    AppendInCase(text, at, at + character.bytes, in_word ? Case::kLower : Case::kTitle, &out);
    in_word = IsLower(character.code) || IsUpper(character.code) || IsTitle(character.code);
    at += character.bytes;
  }
  return Value::Of(out.Build());
}

template <Side kSide>
Value Strip(Interpreter&, const Value& self, const Bound& bound) {
  if (bound[0] == nullptr || bound[0]->is_none()) {
    return Value::Of(Stripped(self.text(), nullptr, kSide));
  }
  const Text characters = TextArgument(*bound[0], "strip arg");
  const std::string_view bytes = characters.bytes();
  return Value::Of(Stripped(self.text(), &bytes, kSide));
}

template <bool kFromRight>
Value Split(Interpreter& run, const Value& self, const Bound& bound) {
  const Int cuts = CountArgument(bound[1]);
  run.heap().StepOverBytes(self.bytes().size());
  if (bound[0] == nullptr || bound[0]->is_none()) {
    return List(run, SplitText(self.text(), nullptr, cuts, kFromRight));
  }
  const Text at = TextArgument(*bound[0], "separator");
  const std::string_view bytes = at.bytes();
  if (kFromRight) run.heap().Step(self.bytes().size() / 16);
  return List(run, SplitText(self.text(), &bytes, cuts, kFromRight));
}

Value SplitLines(Interpreter& run, const Value& self, const Bound& bound) {
  std::vector<Value> lines;
  for (const Text& line : Lines(self.text(), bound.Flag(0))) lines.push_back(Value::Of(line));
  return List(run, std::move(lines));
}

Value Join(Interpreter& run, const Value& self, const Bound& bound) {
  const std::vector<Value> items = ItemsOf(&run.heap(), *bound[0]);
  return Value::Of(Joined(&run.heap(), self.text(), items, false));
}

Value Replace(Interpreter& run, const Value& self, const Bound& bound) {
  return Value::Of(
      Replaced(&run.heap(), self.text(), TextArgument(*bound[0], "replace() argument 1"),
               TextArgument(*bound[1], "replace() argument 2"), CountArgument(bound[2])));
}

// The bytes of the characters from bound[first] to bound[first + 1].
struct Window {
  size_t begin = 0;
  size_t end = 0;
  bool valid = true;  // it begins inside
};

Window WindowOf(const Text& text, const Bound& bound, size_t first) {
  const auto length = static_cast<Int>(text.length());
  const auto place = [&](const Value* value, Int otherwise) {
    if (value == nullptr || value->is_none()) return otherwise;
    const Int at = IntegerOf(*value);
    return at < 0 ? std::max<Int>(at + length, 0) : at;
  };
  const Int begin = place(bound[first], 0);
  const Int end = std::min(place(bound[first + 1], length), length);
  if (begin > length || begin > end) return {0, 0, false};
  return {text.ByteOf(static_cast<size_t>(begin)), text.ByteOf(static_cast<size_t>(end)), true};
}

// The character at which it is found; -1 if nowhere.
template <bool kLast>
Int Place(const Value& self, const Bound& bound) {
  const Text text = self.text();
  const Text part = TextArgument(*bound[0], "argument");
  const Window window = WindowOf(text, bound, 1);
  if (!window.valid) return -1;
  const std::string_view inside = text.bytes().substr(window.begin, window.end - window.begin);
  const size_t found = kLast ? FindLastIn(inside, part.bytes()) : FindIn(inside, part.bytes());
  if (found == kNotFound) return -1;
  return static_cast<Int>(text.CharacterOf(window.begin + found));
}

template <bool kLast>
Value Find(Interpreter& run, const Value& self, const Bound& bound) {
  run.heap().StepOverBytes(self.bytes().size());
  return Value::Integer(Place<kLast>(self, bound));
}

template <bool kLast>
Value Index(Interpreter& run, const Value& self, const Bound& bound) {
  run.heap().StepOverBytes(self.bytes().size());
  const Int place = Place<kLast>(self, bound);
  if (place < 0) Raise("substring not found");
  return Value::Integer(place);
}

Value Count(Interpreter& run, const Value& self, const Bound& bound) {
  const Text text = self.text();
  const Text part = TextArgument(*bound[0], "argument");
  const Window window = WindowOf(text, bound, 1);
  run.heap().StepOverBytes(text.size());
  if (!window.valid) return Value::Integer(0);
  const std::string_view inside = text.bytes().substr(window.begin, window.end - window.begin);
  if (part.empty()) {
    return Value::Integer(static_cast<Int>(Part(text, window.begin, window.end).length()) + 1);
  }
  return Value::Integer(static_cast<Int>(CountIn(inside, part.bytes())));
}

template <bool kEnd>
Value StartsOrEnds(Interpreter&, const Value& self, const Bound& bound) {
  const Text text = self.text();
  const Window window = WindowOf(text, bound, 1);
  const std::string_view inside = text.bytes().substr(window.begin, window.end - window.begin);
  const auto matches = [&](const Value& one) {
    const Text part = TextArgument(one, kEnd ? "endswith first arg" : "startswith first arg");
    if (!window.valid) return false;
    return kEnd ? inside.ends_with(part.bytes()) : inside.starts_with(part.bytes());
  };
  if (!bound[0]->is(Kind::kTuple)) return Value::Bool(matches(*bound[0]));
  const auto& parts = bound[0]->items();
  return Value::Bool(std::any_of(parts.begin(), parts.end(), matches));
}

Value RemovePrefix(Interpreter&, const Value& self, const Bound& bound) {
  const Text prefix = TextArgument(*bound[0], "removeprefix() argument");
  const Text text = self.text();
  return text.bytes().starts_with(prefix.bytes())
             ? Value::Of(Part(text, prefix.size(), text.size()))
             : self;
}

Value RemoveSuffix(Interpreter&, const Value& self, const Bound& bound) {
  const Text suffix = TextArgument(*bound[0], "removesuffix() argument");
  const Text text = self.text();
  return text.bytes().ends_with(suffix.bytes())
             ? Value::Of(Part(text, 0, text.size() - suffix.size()))
             : self;
}

template <bool kLast>
Value Partition(Interpreter& run, const Value& self, const Bound& bound) {
  const Text text = self.text();
  const Text at = TextArgument(*bound[0], "separator");
  if (at.empty()) Raise("empty separator");
  const size_t found =
      kLast ? FindLastIn(text.bytes(), at.bytes()) : FindIn(text.bytes(), at.bytes());
  const Value none = run.Made("");
  if (found == kNotFound) {
    return MakeTuple(&run.heap(), kLast ? std::vector<Value>{none, none, self}
                                        : std::vector<Value>{self, none, none});
  }
  return MakeTuple(&run.heap(), {Value::Of(Part(text, 0, found)),
                                 Value::Of(Part(text, found, found + at.size())),
                                 Value::Of(Part(text, found + at.size(), text.size()))});
}

Text FillArgument(Interpreter& run, const Value* value) {
  if (value == nullptr) return run.Made(" ").text();
  const Text fill = TextArgument(*value, "The fill character");
  if (fill.length() != 1) Raise("The fill character must be exactly one character long");
  return fill;
}

Value Center(Interpreter& run, const Value& self, const Bound& bound) {
  const Text fill = FillArgument(run, bound[1]);
  return Value::Of(
      Centered(&run.heap(), self.text(), CountOf(*bound[0], kPaddingMax), fill.bytes()));
}

template <bool kRight>
Value Justify(Interpreter& run, const Value& self, const Bound& bound) {
  const Text fill = FillArgument(run, bound[1]);
  const size_t width = CountOf(*bound[0], kPaddingMax);
  const size_t length = self.text().length();
  if (width <= length) return self;
  const size_t missing = width - length;
  return Value::Of(
      Padded(&run.heap(), self.text(), kRight ? missing : 0, kRight ? 0 : missing, fill.bytes()));
}

Value ZeroFill(Interpreter& run, const Value& self, const Bound& bound) {
  const Text text = self.text();
  const size_t width = CountOf(*bound[0], kPaddingMax);
  if (width <= text.length()) return self;
  const size_t sign = text.bytes().starts_with('-') || text.bytes().starts_with('+') ? 1 : 0;
  const size_t missing = width - text.length();
  TextBuilder out(&run.heap());
  out.Append(text, 0, sign);
  out.Append(Padded(&run.heap(), Part(text, sign, text.size()), missing, 0, "0"));
  return Value::Of(out.Build());
}

Value ExpandTabs(Interpreter& run, const Value& self, const Bound& bound) {
  const Int size = bound[0] == nullptr ? 8 : IntegerOf(*bound[0]);
  const Text text = self.text();
  TextBuilder out(&run.heap());
  Int column = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.bytes(), at);
    if (character.code == '\t') {
      const Int spaces = size > 0 ? size - column % size : 0;
      run.heap().CheckTextBytes(spaces > Int{kPaddingMax} ? kPaddingMax
                                                          : static_cast<size_t>(spaces));
      out.AppendChanged(std::string(static_cast<size_t>(spaces), ' '), text, at);
      column += spaces;
    } else {
      out.Append(text, at, at + character.bytes);
      column = character.code == '\n' || character.code == '\r' ? 0 : column + 1;
    }
    at += character.bytes;
  }
  return Value::Of(out.Build());
}

// Whether all characters are of a kind, and there is one.
template <bool (*kIs)(uint32_t)>
Value All(Interpreter&, const Value& self, const Bound&) {
  const std::string_view text = self.bytes();
  if (text.empty()) return Value::Bool(false);
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (!kIs(character.code)) return Value::Bool(false);
    at += character.bytes;
  }
  return Value::Bool(true);
}

bool IsAlphaOrNumeric(uint32_t code) {
  return IsAlpha(code) || IsNumeric(code);
}

Value IsPrintableText(Interpreter& run, const Value& self, const Bound& bound) {
  return self.bytes().empty() ? Value::Bool(true) : All<IsPrintable>(run, self, bound);
}

Value IsAscii(Interpreter&, const Value& self, const Bound&) {
  return Value::Bool(self.text().ascii());
}

Value IsIdentifier(Interpreter&, const Value& self, const Bound&) {
  const std::string_view text = self.bytes();
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    if (!(at == 0 ? BeginsName : ContinuesName)(character.code)) return Value::Bool(false);
    at += character.bytes;
  }
  return Value::Bool(!text.empty());
}

Value IsTitleText(Interpreter&, const Value& self, const Bound&) {
  bool any = false;
  bool in_word = false;
  const std::string_view text = self.bytes();
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text, at);
    at += character.bytes;
    const bool upper = IsUpper(character.code) || IsTitle(character.code);
    const bool lower = IsLower(character.code);
    if ((upper && in_word) || (lower && !in_word)) return Value::Bool(false);
    in_word = upper || lower;
    any = any || in_word;
  }
  return Value::Bool(any);
}

template <bool kLower>
Value IsCase(Interpreter& run, const Value& self, const Bound&) {
  return Value::Bool(run.ApplyTest(kLower ? "lower" : "upper", self, {}));
}

Value Format(Interpreter& run, const Value& self, const Bound& bound) {
  return FormatBraces(run, self.text(), bound.all());
}

Value FormatMap(Interpreter& run, const Value& self, const Bound& bound) {
  if (!bound[0]->is_dict()) Raise("format_map() takes a mapping");
  Arguments arguments;
  for (const auto& [key, value] : bound[0]->dict().items) {
    if (key.is_text()) arguments.names.emplace_back(key.bytes(), value);
  }
  return FormatBraces(run, self.text(), arguments);
}

}  // namespace

constexpr MethodDefinition kTextMethodTable[] = {
    {"strip", "/chars=", Strip<Side::kBoth>},
    {"lstrip", "/chars=", Strip<Side::kLeft>},
    {"rstrip", "/chars=", Strip<Side::kRight>},
    {"split", "sep=,maxsplit=", Split<false>},
    {"rsplit", "sep=,maxsplit=", Split<true>},
    {"splitlines", "keepends=", SplitLines},
    {"startswith", "/prefix,start=,end=", StartsOrEnds<false>},
    {"endswith", "/suffix,start=,end=", StartsOrEnds<true>},
    {"replace", "/old,new,count=", Replace},
    {"join", "/iterable", Join},
    {"lower", "", ToCase<Case::kLower>},
    {"upper", "", ToCase<Case::kUpper>},
    {"title", "", Title},
    {"capitalize", "", Capitalize},
    {"casefold", "", ToCase<Case::kFolded>},
    {"swapcase", "", ToCase<Case::kSwapped>},
    {"find", "/sub,start=,end=", Find<false>},
    {"rfind", "/sub,start=,end=", Find<true>},
    {"index", "/sub,start=,end=", Index<false>},
    {"rindex", "/sub,start=,end=", Index<true>},
    {"count", "/sub,start=,end=", Count},
    {"format", "*", Format},
    {"format_map", "/mapping", FormatMap},
    {"removeprefix", "/prefix", RemovePrefix},
    {"removesuffix", "/suffix", RemoveSuffix},
    {"partition", "/sep", Partition<false>},
    {"rpartition", "/sep", Partition<true>},
    {"center", "/width,fillchar=", Center},
    {"ljust", "/width,fillchar=", Justify<false>},
    {"rjust", "/width,fillchar=", Justify<true>},
    {"zfill", "/width", ZeroFill},
    {"expandtabs", "tabsize=", ExpandTabs},
    {"isalnum", "", All<IsAlphaOrNumeric>},
    {"isalpha", "", All<IsAlpha>},
    {"isdecimal", "", All<IsDecimal>},
    {"isdigit", "", All<IsDigit>},
    {"isnumeric", "", All<IsNumeric>},
    {"isspace", "", All<IsSpace>},
    {"isprintable", "", IsPrintableText},
    {"isascii", "", IsAscii},
    {"isidentifier", "", IsIdentifier},
    {"istitle", "", IsTitleText},
    {"islower", "", IsCase<true>},
    {"isupper", "", IsCase<false>}};

const MethodDefinition* FindTextMethod(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kTextMethodTable), std::end(kTextMethodTable),
                                         [&](const auto& method) { return name == method.name; });
  return found == std::end(kTextMethodTable) ? nullptr : found;
}

}  // namespace cairn::jinja
