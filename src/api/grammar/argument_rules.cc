#include "api/grammar/argument_rules.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "api/grammar/pattern/regex.h"
#include "api/grammar/rules/json_grammar.h"

namespace cairn {
namespace {

constexpr size_t kArgumentStepsMax = 10'000'000;

std::vector<std::string> CharactersOf(std::string_view text) {
  std::vector<std::string> characters;
  for (const char c : text) {
    const bool goes_on = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (goes_on && !characters.empty()) {
      characters.back() += c;
    } else {
      characters.emplace_back(1, c);
    }
  }
  return characters;
}

// Returns a character escaped for a GBNF class.
std::string ClassCharacter(const std::string& character) {
  const bool special = character.find_first_of("]\\^-") != std::string::npos;
  return (special ? "\\" : "") + character;
}

// The tag that ends a text; JSON's quote where strings are JSON.
std::string CloseOf(const LearnedCalls& syntax) {
  const std::vector<std::string> parts = SyntaxParts(syntax.string_close);
  return parts.empty() ? "\"" : parts[0];
}

void Choose(const std::string& text, std::string* all) {
  if (!text.empty()) *all += (all->empty() ? "" : " | ") + text;
}

struct NamedType {
  TypeSet type;
  std::string_view name;
};
constexpr std::array<NamedType, 5> kOtherTypes = {
    NamedType{kNumberType, "number"}, NamedType{kTrueType | kFalseType, "boolean"},
    NamedType{kNullType, "null"}, NamedType{kObjectType, "object"}, NamedType{kArrayType, "array"}};

// Keys in the notation with its own quotes, and in pairs.
constexpr std::string_view kNoQuotedKey = ":,{}[]<>\n\"";
constexpr std::string_view kNoKey = "<>\r\n";

}  // namespace

bool IsIdentifier(std::string_view text, std::string_view more) {
  const auto fits = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           more.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

ArgumentRules::ArgumentRules(const LearnedCalls& syntax, const RulesTarget& target,
                             SchemaRules* rules, RuleSheet* sheet)
    : syntax_(syntax),
      target_(target),
      rules_(*rules),
      sheet_(*sheet),
      budget_(kArgumentStepsMax),
      told_apart_(syntax.string_open != syntax.other_open),
      close_(CloseOf(syntax)) {
  quoted_.key = [](const std::string& name) {
    return std::vector<std::string>{GbnfLiteral(name + ":")};
  };
  quoted_.other_key = [this](const SchemaShape::Others& others, bool odd) {
    return OtherKey(others, R"(":")", odd);
  };
  quoted_.value = [this](NodeId id) { return Quoted(id); };
  quoted_.open = R"("{")";
  quoted_.separator = R"(",")";
  quoted_.close = R"("}")";
}

ApiResult<std::string> ArgumentRules::Write() {
  MemberSyntax pairs;
  pairs.key = [this](const std::string& name) {
    return std::vector<std::string>{GbnfLiteral(syntax_.key_open + name)};
  };
  pairs.other_key = [this](const SchemaShape::Others& others, bool odd) {
    std::string key = OtherKey(others, R"("")", odd);
    if (syntax_.key_open.empty()) return key;
    return (odd ? "~" : "") + GbnfLiteral(syntax_.key_open) + " " + key;
  };
  pairs.value = [this](NodeId id) { return Pair(id); };
  if (!syntax_.pair_between.empty()) pairs.separator = GbnfLiteral(syntax_.pair_between);
  std::vector<MemberRules::Elements> all;
  const SchemaNodes& nodes = rules_.nodes();
  const std::string forbidden = NoKey();
  for (const SchemaShape& shape : nodes.nodes[nodes.root].shapes) {
    if ((shape.types & kObjectType) == 0) continue;
    const SchemaShape writable = Writable(shape, forbidden);
    all.push_back(MemberRules(writable, &sheet_, &pairs).Write());
  }
  if (all.empty() && !error_) error_ = FieldError(target_.field + ".type", "'object'");
  if (error_) return tl::unexpected(*error_);
  WriteQuoted();
  return sheet_.Joined(std::move(all), kNoText);
}

std::string ArgumentRules::NoKey() const {
  const bool quoted = syntax_.strings == LearnedCalls::Strings::kQuoted;
  std::string forbidden(quoted ? kNoQuotedKey : kNoKey);
  for (const std::string* open : {&syntax_.string_open, &syntax_.other_open}) {
    const std::vector<std::string> parts = SyntaxParts(*open);
    if (!parts.empty()) forbidden += parts[0][0];
  }
  return forbidden;
}

SchemaShape ArgumentRules::Writable(const SchemaShape& shape, std::string_view forbidden) {
  SchemaShape writable = shape;
  std::erase_if(writable.properties, [&](const SchemaShape::Property& property) {
    const std::string& name = property.name;
    if (!name.empty() && name.find_first_of(forbidden) == std::string::npos) return false;
    if (property.required && !error_) {
      error_ = FieldError(target_.field + ".properties." + name,
                          "named without the signs and tags that this model writes");
    }
    return true;
  });
  return writable;
}

std::string ArgumentRules::OtherKey(const SchemaShape::Others& others, const std::string& behind,
                                    bool odd) {
  // A name without quotes is told from values by its characters.
  std::string held = R"([\w.$\-)";
  std::string end = held + "]";
  std::string within = held + " ]";
  if (syntax_.strings != LearnedCalls::Strings::kQuoted) {
    held = "[^";
    for (const char c : NoKey()) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) held += '\\';
      held += c == '\n' ? 'n' : c == '\r' ? 'r' : c;
    }
    // Parsers take away the space around a name.
    end = held + "\\s]";
    within = held + "]";
  }
  const auto plain = DfaOfPattern("^" + end + "(" + within + "{0,98}" + end + ")?$", &budget_);
  std::optional<Dfa> names = plain;
  if (names && others.names) names = names->With(*others.names, Dfa::Op::kAnd, &budget_);
  if (!names || names->empty()) return kNoText;
  return sheet_.RawText(*names, behind, odd);
}

std::string ArgumentRules::Other(const std::string& value, std::string_view type) const {
  const bool typed = !syntax_.other_type_end.empty();
  const std::string open =
      syntax_.other_open + (typed ? std::string(type) : "") + syntax_.other_type_end;
  return GbnfLiteral(open) + " " + value + " " + GbnfLiteral(syntax_.other_close);
}

std::string ArgumentRules::Pair(NodeId id) {
  if (syntax_.strings == LearnedCalls::Strings::kJson && syntax_.other_type_end.empty()) {
    return Other(rules_.Value(id), "");
  }
  TypeSet types = 0;
  for (const SchemaShape& shape : rules_.nodes().nodes[id].shapes) types |= shape.types;
  const bool structure = (types & (kObjectType | kArrayType)) != 0;
  std::string all;
  const bool texts_are_json = syntax_.strings == LearnedCalls::Strings::kJson;
  // Any text is some value, which the parser finds out.
  const bool free = id == kAnyValue && !told_apart_ && !texts_are_json;
  if ((types & kStringType) != 0 && texts_are_json) {
    Choose(Other(rules_.Value(id, kStringType), "string"), &all);
  } else if ((types & kStringType) != 0) {
    Choose(Text(id, !free && structure && !told_apart_), &all);
  }
  if (!free) Choose(Others(id, types & static_cast<TypeSet>(~kStringType)), &all);
  return sheet_.Once(all.empty() ? kNoText : all);
}

std::string ArgumentRules::Others(NodeId id, TypeSet types) {
  if (types == 0) return "";
  const bool quoted = syntax_.strings == LearnedCalls::Strings::kQuoted;
  if (syntax_.other_type_end.empty() && !quoted) return Other(rules_.Value(id, types), "");
  std::string all;
  for (const NamedType& named : kOtherTypes) {
    const TypeSet held = types & named.type;
    if (held == 0) continue;
    const bool structure = (held & (kObjectType | kArrayType)) != 0;
    std::string value = quoted && structure ? "" : rules_.Value(id, held);
    if (quoted && structure) {
      for (const SchemaShape& shape : rules_.nodes().nodes[id].shapes) {
        if ((shape.types & held) != 0) Choose(QuotedShape(shape, held), &value);
      }
      value = sheet_.Once(value);
    }
    Choose(Other(value, named.name), &all);
  }
  return all;
}

// The texts of a node's strings; nullopt for all of them, or for more than can be put together.
std::optional<Dfa> ArgumentRules::TextsOf(NodeId id) {
  std::optional<Dfa> all = Dfa::Nothing();
  for (const SchemaShape& shape : rules_.nodes().nodes[id].shapes) {
    if ((shape.types & kStringType) == 0) continue;
    std::optional<Dfa> texts;
    if (shape.listed) {
      texts = Dfa::OfWords(shape.words);
      if (!texts && target_.loosened != nullptr) {
        target_.loosened->insert(target_.field + ".enum");
      }
    } else if (shape.texts) {
      texts = *shape.texts;
    } else if (shape.length_min > 0 || shape.length_max) {
      const bool long_one =
          std::max(shape.length_min, shape.length_max.value_or(0)) > kJoinedLengthMax;
      if (!long_one) texts = Dfa::OfLengths(shape.length_min, shape.length_max);
      if (long_one && target_.loosened != nullptr) {
        target_.loosened->insert(target_.field + ".maxLength");
      }
    }
    if (texts && all) all = all->With(*texts, Dfa::Op::kOr, &budget_);
    if (!texts) return std::nullopt;
  }
  return all;
}

std::string ArgumentRules::Text(NodeId id, bool beside_structure) {
  const std::string open = GbnfLiteral(syntax_.string_open) + " ";
  auto texts = TextsOf(id);
  if (!texts && !beside_structure) return open + "bare-text";
  if (!texts) texts = Dfa::Everything();
  // A text that looks like a list or an object would be read as one.
  if (beside_structure) {
    const auto looks = DfaOfPattern(R"(^\s*[\[{])", &budget_);
    auto others = looks ? texts->With(*looks, Dfa::Op::kMinus, &budget_) : std::nullopt;
    if (others) texts = *std::move(others);
  }
  auto closed = texts->With(Dfa::Without(close_), Dfa::Op::kAnd, &budget_);
  if (!closed) return open + "bare-text";
  if (closed->empty()) return "";
  return open + sheet_.RawText(*closed, GbnfLiteral(syntax_.string_close));
}

// --- The notation with its own quotes ---

std::string ArgumentRules::Quoted(NodeId id) {
  if (id == kAnyValue) return "quoted-value";
  const auto [known, is_new] = quoted_names_.try_emplace(id);
  if (is_new) {
    known->second = sheet_.Name();
    quoted_open_.push_back(id);
  }
  return known->second;
}

void ArgumentRules::WriteQuoted() {
  while (!quoted_open_.empty() && !sheet_.full()) {
    const NodeId id = quoted_open_.back();
    quoted_open_.pop_back();
    std::string all;
    TypeSet plain = 0;
    bool strings = false;
    for (const SchemaShape& shape : rules_.nodes().nodes[id].shapes) {
      plain |= shape.types & (kNullType | kTrueType | kFalseType | kNumberType);
      strings = strings || (shape.types & kStringType) != 0;
      const TypeSet structure = shape.types & (kObjectType | kArrayType);
      if (structure != 0) Choose(QuotedShape(shape, structure), &all);
    }
    if (plain != 0) Choose(rules_.Value(id, plain), &all);
    const auto texts = strings ? TextsOf(id) : std::nullopt;
    const auto inside =
        texts ? texts->With(Dfa::Without(syntax_.quote), Dfa::Op::kAnd, &budget_) : std::nullopt;
    const std::string quote = GbnfLiteral(syntax_.quote);
    if (strings && !inside) Choose("quoted-string", &all);
    if (inside && !inside->empty()) Choose(quote + " " + sheet_.RawText(*inside, quote), &all);
    sheet_.Add(quoted_names_.at(id), all.empty() ? kNoText : all);
  }
}

std::string ArgumentRules::QuotedShape(const SchemaShape& shape, TypeSet types) {
  std::string all;
  if ((shape.types & types & kArrayType) != 0) Choose(QuotedList(shape), &all);
  if ((shape.types & types & kObjectType) != 0) {
    const SchemaShape writable = Writable(shape, kNoQuotedKey);
    std::string object;
    for (const std::string& element : MemberRules(writable, &sheet_, &quoted_).Write()) {
      object += (object.empty() ? "" : " ") + element;
    }
    Choose(object, &all);
  }
  return all;
}

std::string ArgumentRules::QuotedList(const SchemaShape& shape) {
  const size_t first = shape.first_items.size();
  std::string rest;
  if (!shape.items_max || *shape.items_max > first) {
    const size_t from = shape.items_min > first ? shape.items_min - first : 0;
    const auto to =
        shape.items_max ? std::optional<size_t>(*shape.items_max - first) : std::nullopt;
    const std::string item = Quoted(shape.item);
    if (first > 0) {
      rest = R"(("," )" + item + ")" + GbnfTimes(from, to);
    } else {
      const auto behind = to ? std::optional<size_t>(*to - 1) : std::nullopt;
      rest = item + R"( ("," )" + item + ")" + GbnfTimes(from > 0 ? from - 1 : 0, behind);
      if (from == 0) rest = "(" + rest + ")?";
    }
  }
  for (size_t i = first; i-- > 0;) {
    std::string item = (i == 0 ? "" : R"("," )") + Quoted(shape.first_items[i]);
    if (!rest.empty()) item += " " + rest;
    rest = sheet_.Once(i >= shape.items_min ? R"("" | )" + item : item);
  }
  return R"("[" )" + (rest.empty() ? "" : rest + " ") + R"("]")";
}

ApiResult<std::string> PythonArguments(const RulesTarget& target, SchemaRules* rules,
                                       RuleSheet* sheet) {
  MemberSyntax python;
  python.key = [](const std::string& name) {
    return std::vector<std::string>{GbnfLiteral(name + "=")};
  };
  WorkBudget budget(kArgumentStepsMax);
  python.other_key = [&](const SchemaShape::Others& others, bool odd) -> std::string {
    auto names = DfaOfPattern("^[A-Za-z_][A-Za-z0-9_]{0,99}$", &budget);
    if (names && others.names) names = names->With(*others.names, Dfa::Op::kAnd, &budget);
    if (!names || names->empty()) return kNoText;
    return sheet->RawText(*names, R"("=")", odd);
  };
  python.value = [&](NodeId id) { return rules->Value(id); };
  python.separator = R"(", ")";
  const SchemaNodes& nodes = rules->nodes();
  std::vector<MemberRules::Elements> all;
  for (const SchemaShape& shape : nodes.nodes[nodes.root].shapes) {
    if ((shape.types & kObjectType) == 0) continue;
    SchemaShape writable = shape;
    for (const SchemaShape::Property& property : shape.properties) {
      if (IsIdentifier(property.name) || !property.required) continue;
      return tl::unexpected(
          FieldError(target.field + ".properties." + property.name, "named as a Python argument"));
    }
    std::erase_if(writable.properties,
                  [](const auto& property) { return !IsIdentifier(property.name); });
    all.push_back(MemberRules(writable, sheet, &python).Write());
  }
  if (all.empty()) return tl::unexpected(FieldError(target.field + ".type", "'object'"));
  return sheet->Joined(std::move(all), kNoText);
}

std::string BareTextRules(const LearnedCalls& syntax) {
  const std::vector<std::string> close = SyntaxParts(syntax.string_close);
  const std::string end = CloseOf(syntax);
  std::string rules = "bare-text ::= bare-inside";
  for (size_t i = 1; i < close.size(); ++i) rules += " " + GbnfLiteral(close[i]);
  rules += "\n" + GbnfUntil("bare-inside", end);
  if (syntax.strings != LearnedCalls::Strings::kQuoted) return rules;
  return rules + "quoted-string ::= " + GbnfLiteral(syntax.quote) + " quoted-inside\n" +
         GbnfUntil("quoted-inside", syntax.quote) +
         "quoted-value ::= quoted-object | quoted-array | quoted-string | number | boolean | null\n"
         "quoted-array ::= \"[\" (quoted-value (\",\" quoted-value)*)? \"]\"\n"
         "quoted-object ::= \"{\" (quoted-member (\",\" quoted-member)*)? \"}\"\n"
         "quoted-member ::= [a-zA-Z_] [a-zA-Z0-9_]{0,63} \":\" quoted-value\n";
}

std::string GbnfUntil(const std::string& name, std::string_view end) {
  const std::vector<std::string> characters = CharactersOf(end);
  const std::string& first = characters[0];
  const auto rule = [&](size_t at) { return at == 0 ? name : name + "-" + std::to_string(at); };
  std::string text = rule(0) + " ::= [^" + ClassCharacter(first) + "] " + rule(0) + " | " +
                     GbnfLiteral(first) + " " + rule(1) + "\n";
  for (size_t at = 1; at < characters.size(); ++at) {
    const std::string& letter = characters[at];
    if (letter == first) return "";
    text += rule(at) + " ::= " + GbnfLiteral(letter) + " " + rule(at + 1) + " | " +
            GbnfLiteral(first) + " " + rule(1) + " | [^" + ClassCharacter(first) +
            ClassCharacter(letter) + "] " + rule(0) + "\n";
  }
  return text + rule(characters.size()) + " ::= \"\"\n";
}

}  // namespace cairn
