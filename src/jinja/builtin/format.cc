// Python's two ways to put values into a text: the % operator and str.format().

#include <string>
#include <utility>

#include "jinja/builtin/format_spec.h"
#include "jinja/run/builtins.h"
#include "jinja/run/lookup.h"
#include "jinja/value/print.h"

namespace cairn::jinja {
namespace {

std::string AsciiOf(const Text& text) {
  std::string ascii;
  char escaped[16];
  for (size_t at = 0; at < text.size();) {
    const Character character = CharacterAt(text.bytes(), at);
    at += character.bytes;
    if (character.code < 0x80) {
      ascii += static_cast<char>(character.code);
      continue;
    }
    const char* const form = character.code < 0x100     ? "\\x%02x"
                             : character.code < 0x10000 ? "\\u%04x"
                                                        : "\\U%08x";
    std::snprintf(escaped, sizeof(escaped), form, character.code);
    ascii += escaped;
  }
  return ascii;
}

// The text of a conversion: s, r or a.
Text Converted(Interpreter& run, const Value& value, char conversion) {
  if (conversion == 's') return TextOf(&run.heap(), value);
  TextBuilder out(&run.heap());
  AppendRepr(value, &out);
  const Text text = out.Build();
  return conversion == 'a' ? run.Made(AsciiOf(text)).text() : text;
}

class PercentFormat {
 public:
  PercentFormat(Interpreter& run, const Text& format, const Value& values)
      : run_(run), format_(format), bytes_(format.bytes()), values_(values), out_(&run.heap()) {}

  Value Run() {
    while (at_ < bytes_.size()) {
      const size_t percent = std::min(bytes_.find('%', at_), bytes_.size());
      out_.Append(format_, at_, percent);
      at_ = percent + 1;
      if (percent < bytes_.size()) Directive();
    }
    const bool by_name = values_.is_dict();
    const size_t given = values_.is(Kind::kTuple) ? values_.items().size() : 1;
    const bool others =
        by_name || values_.is_list() || values_.is(Kind::kRange) || values_.is_undefined();
    if (used_ < given && !others && !named_) {
      Raise("not all arguments converted during string formatting");
    }
    out_.set_safe(format_.safe());
    return Value::Of(out_.Build());
  }

 private:
  char Next() {
    if (at_ >= bytes_.size()) Raise("incomplete format");
    return bytes_[at_++];
  }

  Value NextValue() {
    if (!values_.is(Kind::kTuple)) {
      if (used_++ > 0) Raise("not enough arguments for format string");
      return values_;
    }
    if (used_ >= values_.items().size()) Raise("not enough arguments for format string");
    return values_.items()[used_++];
  }

  size_t Number(size_t max) {
    size_t number = 0;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      number = number * 10 + static_cast<size_t>(bytes_[at_++] - '0');
      if (number > max) Raise("width too big");
    }
    return number;
  }

  void Directive() {
    FormatSpec spec;
    Value named;
    if (at_ < bytes_.size() && bytes_[at_] == '(') named = Named();
    bool left = false;
    bool zero = false;
    for (bool more = true; more && at_ < bytes_.size();) {
      switch (bytes_[at_]) {
        case '-':
          left = true;
          break;
        case '0':
          zero = true;
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          spec.sign = spec.sign == '+' ? '+' : ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        default:
          more = false;
      }
      if (more) ++at_;
    }
    if (at_ < bytes_.size() && bytes_[at_] == '*') {
      ++at_;
      const Int width = IntegerOf(NextValue());
      if (width < 0) left = true;
      spec.width = CountOf(Value::Integer(width < 0 ? -width : width), 1U << 24U);
    } else {
      spec.width = Number(1U << 24U);
    }
    if (at_ < bytes_.size() && bytes_[at_] == '.') {
      ++at_;
      if (at_ < bytes_.size() && bytes_[at_] == '*') {
        ++at_;
        spec.precision = static_cast<int>(CountOf(NextValue(), 1U << 20U));
      } else {
        spec.precision = static_cast<int>(Number(1U << 20U));
      }
    }
    char type = Next();
    while (type == 'l' || type == 'h' || type == 'L') type = Next();
    if (type == '%') return out_.AppendMade("%");
    const Value value = is_named_ ? named : NextValue();
    is_named_ = false;
    spec.type = type;
    spec.align = left ? '<' : zero ? '=' : 0;
    Convert(value, spec, left, zero);
  }

  Value Named() {
    size_t depth = 1;
    const size_t begin = ++at_;
    for (; at_ < bytes_.size() && depth > 0; ++at_) {
      if (bytes_[at_] == '(') ++depth;
      if (bytes_[at_] == ')') --depth;
    }
    if (depth > 0) Raise("incomplete format key");
    if (!values_.is_dict()) Raise("format requires a mapping");
    named_ = is_named_ = true;
    const std::string_view key = bytes_.substr(begin, at_ - 1 - begin);
    const Value* const found = values_.dict().Find(key);
    if (found == nullptr) Raise("format has no '" + std::string(key) + "'");
    return *found;
  }

  void Convert(const Value& value, FormatSpec spec, bool left, bool zero) {
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      Text text = Converted(run_, value, spec.type);
      if (spec.precision >= 0) {
        text = Part(text, 0, text.ByteOf(static_cast<size_t>(spec.precision)));
      }
      spec.align = left ? '<' : '>';
      return out_.Append(Aligned(run_, text, spec, '>', 0));
    }
    if (spec.type == 'c') return Character(value, spec, left);
    Value number = value;
    RequireDefined(number);
    if (!number.is_number()) {
      Raise(std::string("%") + spec.type + " format: a real number is required, not " +
            TypeName(value));
    }
    const bool integral = std::string_view("diuxXo").find(spec.type) != std::string_view::npos;
    const bool floating = std::string_view("eEfFgG").find(spec.type) != std::string_view::npos;
    if (!integral && !floating) {
      Raise(std::string("unsupported format character '") + spec.type + "'");
    }
    if (integral) {
      if (number.is(Kind::kFloat)) {
        if (spec.type == 'x' || spec.type == 'X' || spec.type == 'o') {
          Raise("%x format: an integer is required, not float");
        }
        number = Value::Integer(ToInt(number.floating()));
      }
      if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
    }
    std::string text = NumberText(number, WithoutWidth(spec, integral));
    size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
    if (spec.alternate && integral && spec.type != 'd') sign += 2;
    if (integral && spec.precision > 0) {
      const auto digits = static_cast<size_t>(spec.precision);
      if (text.size() - sign < digits) text.insert(sign, digits - (text.size() - sign), '0');
    }
    spec.fill = zero && !left ? "0" : " ";
    out_.Append(Aligned(run_, run_.Made(text).text(), spec, '>', sign));
  }

  static FormatSpec WithoutWidth(FormatSpec spec, bool integral) {
    spec.width = 0;
    spec.align = 0;
    if (integral) spec.precision = -1;
    return spec;
  }

  void Character(const Value& value, FormatSpec spec, bool left) {
    Text text;
    if (value.is_text() && value.text().length() == 1) {
      text = value.text();
    } else {
      const Int code = IntegerOf(value);
      if (code < 0 || code > 0x10FFFF) Raise("%c arg not in range(0x110000)");
      std::string one;
      AppendCharacter(static_cast<uint32_t>(code), &one);
      text = run_.Made(one).text();
    }
    spec.align = left ? '<' : '>';
    out_.Append(Aligned(run_, text, spec, '>', 0));
  }

  Interpreter& run_;
  const Text format_;
  const std::string_view bytes_;
  const Value& values_;
  TextBuilder out_;
  size_t at_ = 0;
  size_t used_ = 0;
  bool named_ = false;
  bool is_named_ = false;  // the value of this directive
};

class BraceFormat {
 public:
  BraceFormat(Interpreter& run, const Arguments& arguments) : run_(run), arguments_(arguments) {}

  // `depth`: a specification may hold fields, but not theirs.
  Text Run(const Text& format, int depth) {
    if (depth > 2) Raise("Max string recursion exceeded");
    TextBuilder out(&run_.heap());
    const std::string_view bytes = format.bytes();
    for (size_t at = 0; at < bytes.size();) {
      const size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
      out.Append(format, at, brace);
      if (brace == bytes.size()) break;
      if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
        out.Append(format, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (bytes[brace] == '}') Raise("Single '}' encountered in format string");
      const size_t end = FieldEnd(bytes, brace + 1);
      out.Append(Field(Part(format, brace + 1, end), depth));
      at = end + 1;
    }
    return out.Build();
  }

 private:
  static size_t FieldEnd(std::string_view bytes, size_t at) {
    size_t depth = 1;
    bool in_index = false;
    for (; at < bytes.size(); ++at) {
      const char c = bytes[at];
      if (c == '[') in_index = true;
      if (c == ']') in_index = false;
      if (in_index) continue;
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) return at;
    }
    Raise("expected '}' before end of string");
  }

  Text Field(const Text& field, int depth) {
    const std::string_view bytes = field.bytes();
    size_t name_end = 0;
    bool in_index = false;
    for (; name_end < bytes.size(); ++name_end) {
      const char c = bytes[name_end];
      if (c == '[') in_index = true;
      if (c == ']') in_index = false;
      if (!in_index && (c == '!' || c == ':')) break;
      if (c == '{') Raise("unexpected '{' in field name");
    }
    Value value = Named(bytes.substr(0, name_end));
    size_t at = name_end;
    if (at < bytes.size() && bytes[at] == '!') {
      const char conversion = at + 1 < bytes.size() ? bytes[at + 1] : '\0';
      if (conversion != 's' && conversion != 'r' && conversion != 'a') {
        Raise("Unknown conversion specifier");
      }
      value = Value::Of(Converted(run_, value, conversion));
      at += 2;
      if (at < bytes.size() && bytes[at] != ':') Raise("expected ':' after conversion specifier");
    }
    if (at >= bytes.size()) return TextOf(&run_.heap(), value);
    const Text spec = Run(Part(field, at + 1, bytes.size()), depth + 1);
    return Formatted(run_, value, spec.bytes());
  }

  Value Named(std::string_view name) {
    const size_t first_end = std::min(name.find_first_of(".["), name.size());
    Value value = First(name.substr(0, first_end));
    size_t at = first_end;
    while (at < name.size()) {
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        if (end == at + 1) Raise("Empty attribute in format string");
        value = AttributeOf(run_, value, name.substr(at + 1, end - at - 1));
        at = end;
      } else if (name[at] == '[') {
        const size_t end = name.find(']', at);
        if (end == std::string_view::npos) Raise("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, end - at - 1);
        if (key.empty()) Raise("Empty attribute in format string");
        value = ItemOf(run_, value, IsIndex(key) ? Value::Integer(Index(key)) : run_.Made(key));
        at = end + 1;
      } else {
        Raise("Only '.' or '[' may follow ']' in format field specifier");
      }
    }
    return value;
  }

  static bool IsIndex(std::string_view text) {
    return !text.empty() && text.size() < 9 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  }
  static Int Index(std::string_view text) {
    Int index = 0;
    for (const char c : text) index = index * 10 + (c - '0');
    return index;
  }

  Value First(std::string_view name) {
    size_t index = 0;
    if (name.empty()) {
      if (numbered_ == Numbered::kByHand) {
        Raise("cannot switch from manual field specification to automatic field numbering");
      }
      numbered_ = Numbered::kAutomatic;
      index = next_++;
    } else if (IsIndex(name)) {
      if (numbered_ == Numbered::kAutomatic) {
        Raise("cannot switch from automatic field numbering to manual field specification");
      }
      numbered_ = Numbered::kByHand;
      index = static_cast<size_t>(Index(name));
    } else {
      for (const auto& [known, value] : arguments_.names) {
        if (known == name) return value;
      }
      Raise("format has no argument '" + std::string(name) + "'");
    }
    if (index >= arguments_.places.size()) {
      Raise("Replacement index " + std::to_string(index) +
            " out of range for positional args tuple");
    }
    return arguments_.places[index];
  }

  enum class Numbered : uint8_t { kUnknown, kAutomatic, kByHand };

  Interpreter& run_;
  const Arguments& arguments_;
  size_t next_ = 0;
  Numbered numbered_ = Numbered::kUnknown;
};

}  // namespace

Value FormatPercent(Interpreter& run, const Text& format, const Value& values) {
  return PercentFormat(run, format, values).Run();
}

Value FormatBraces(Interpreter& run, const Text& format, const Arguments& arguments) {
  return Value::Of(BraceFormat(run, arguments).Run(format, 0));
}

}  // namespace cairn::jinja
