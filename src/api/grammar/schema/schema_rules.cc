#include "api/grammar/schema/schema_rules.h"

#include <algorithm>

#include "api/grammar/rules/json_grammar.h"
#include "api/grammar/schema/member_rules.h"

namespace cairn {
namespace {

// Numbers of a list up to so many are written in all of their forms.
constexpr size_t kExactNumbersMax = 8;
// A value of so many bytes is written beside its name.
constexpr size_t kOnlyValueMax = 300;
// Strings of so many shapes are put together into one automaton.
constexpr size_t kJoinedShapesMax = 16;
// Objects that begin differently, counted by their first properties: a parse is followed for each.
constexpr size_t kObjectBeginsMax = 600;

}  // namespace

std::string RuleOfNumber(const Json& number, RuleSheet* sheet, WorkBudget* budget) {
  NumberRange range;
  range.least = range.most = Decimal(number);
  return RuleOfNumbers(range, sheet, budget).value_or(GbnfLiteral(number.dump()));
}

SchemaRules::SchemaRules(const SchemaNodes* nodes, size_t rules_max, RuleSheet* sheet)
    : nodes_(*nodes),
      sheet_(*sheet),
      rules_max_(rules_max),
      budget_(kSchemaStepsMax),
      names_(nodes->nodes.size()) {
  json_.key = JsonKey;
  json_.other_key = [this](const SchemaShape::Others& others, bool odd) {
    const std::string name = others.names_many ? sheet_.JsonName(*others.names)
                             : others.names    ? sheet_.JsonString(*others.names, odd)
                             : odd             ? sheet_.JsonString(Dfa::Everything(), odd)
                                               : "string";
    return name + R"( ":" sp)";
  };
  json_.value = [this](NodeId id) { return Value(id); };
  json_.only_value = [this](NodeId id) {
    std::vector<std::string> elements;
    const std::vector<SchemaShape>& shapes = nodes_.nodes[id].shapes;
    const bool one = shapes.size() == 1 && shapes[0].listed && shapes[0].types == kStringType &&
                     shapes[0].words.size() == 1 && shapes[0].words[0].size() <= kOnlyValueMax;
    if (!one) return elements;
    elements = JsonCharacters(shapes[0].words[0]);
    elements.insert(elements.begin(), R"("\"")");
    elements.emplace_back(R"("\"")");
    return elements;
  };
  json_.open = R"("{" ws)";
  json_.separator = R"("," ws)";
  json_.space = "ws";
  json_.close = R"("}")";
}

std::string SchemaRules::Loose(NodeId id, TypeSet held) {
  TypeSet types = 0;
  for (const SchemaShape& shape : nodes_.nodes[id].shapes) types |= shape.types & held;
  cut_ = true;
  if (types == kObjectType) return "object";
  if (types == kArrayType) return "array";
  if (types == kStringType) return "string";
  return types == kNumberType ? "number" : "value";
}

std::string SchemaRules::Value(NodeId id) {
  if (id == kAnyValue) return "value";
  if (!names_[id].empty()) return names_[id];
  const std::vector<SchemaShape>& shapes = nodes_.nodes[id].shapes;
  // Values of one plain type have a shared rule.
  if (shapes.size() == 1) {
    const SchemaShape& shape = shapes[0];
    if (shape.IsAnything()) return "value";
    const bool plain = !shape.listed && !shape.texts && shape.length_min == 0 && !shape.length_max;
    if (shape.types == kStringType && plain) return "string";
    if (shape.types == kNumberType && !shape.listed && shape.range.free()) return "number";
    if (shape.types == kNullType) return "null";
    if (shape.types == (kTrueType | kFalseType)) return "boolean";
  }
  if (asked_ >= rules_max_) {
    return names_[id] = Loose(id, kAllTypes);
  }
  ++asked_;
  names_[id] = sheet_.Name();
  open_.push_back(id);
  return names_[id];
}

std::string SchemaRules::Value(NodeId id, TypeSet types) {
  if (types == kAllTypes) return Value(id);
  if (rules_max_ == 0) return Loose(id, types);
  return sheet_.Once(ShapesRule(nodes_.nodes[id].shapes, types));
}

void SchemaRules::WriteAll() {
  for (size_t i = 0; i < open_.size(); ++i) {
    const NodeId id = open_[i];
    if (sheet_.full()) return;
    sheet_.Add(names_[id], ShapesRule(nodes_.nodes[id].shapes, kAllTypes));
  }
  open_.clear();
}

std::string SchemaRules::ShapesRule(const std::vector<SchemaShape>& shapes, TypeSet types) {
  TypeSet plain = 0;
  std::vector<std::string> choices;
  std::vector<const SchemaShape*> strings;
  std::vector<Elements> objects;
  size_t begins = 0;
  bool any_object = false;
  for (const SchemaShape& shape : shapes) {
    const TypeSet held = shape.types & types;
    plain |= held & (kNullType | kTrueType | kFalseType);
    if ((held & kStringType) != 0) strings.push_back(&shape);
    if ((held & kObjectType) == 0) continue;
    const bool fixed = !shape.properties.empty() && shape.properties[0].required;
    begins += shapes.size() == 1 || fixed ? 0 : FirstProperties(shape);
    const bool free = shape.properties.empty() && shape.others.size() == 1 &&
                      !shape.others[0].names && shape.others[0].value == kAnyValue &&
                      shape.members_min == 0 && !shape.members_max;
    any_object = any_object || free;
  }
  const auto choose = [&](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) choices.push_back(text);
  };
  if (begins > kObjectBeginsMax) cut_ = any_object = true;
  if (any_object) choose("object");
  for (const SchemaShape& shape : shapes) {
    const TypeSet held = shape.types & types;
    if ((held & kObjectType) != 0 && !any_object) {
      objects.push_back(MemberRules(shape, &sheet_, &json_).Write());
    }
    if ((held & kArrayType) != 0) choose(List(shape));
    if ((held & kNumberType) != 0) choose(Numbers(shape));
  }
  if (objects.size() == 1) {
    std::string one;
    for (const std::string& element : objects[0]) one += (one.empty() ? "" : " ") + element;
    choose(one);
  } else if (!objects.empty()) {
    choose(sheet_.Joined(std::move(objects), "object"));
  }
  if (!strings.empty()) choose(Strings(strings));
  if ((plain & kTrueType) != 0 && (plain & kFalseType) != 0) {
    choose("boolean");
  } else if ((plain & (kTrueType | kFalseType)) != 0) {
    choose((plain & kTrueType) != 0 ? R"("true")" : R"("false")");
  }
  if ((plain & kNullType) != 0) choose("null");
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : " | ") + choice;
  return all;
}

std::string SchemaRules::Strings(const std::vector<const SchemaShape*>& shapes) {
  std::vector<std::string> words;
  std::optional<Dfa> texts;
  std::vector<std::string> choices;
  size_t joined = 0;
  for (const SchemaShape* const shape : shapes) {
    if (shape->listed) {
      words.insert(words.end(), shape->words.begin(), shape->words.end());
      continue;
    }
    if (!shape->texts) {
      const bool counted = shape->length_min > 0 || shape->length_max;
      if (!counted) return "string";
      choices.push_back(R"("\"" char)" + GbnfTimes(shape->length_min, shape->length_max) +
                        R"( "\"")");
      continue;
    }
    auto both = !texts                       ? *shape->texts
                : joined >= kJoinedShapesMax ? std::optional<Dfa>()
                                             : texts->With(*shape->texts, Dfa::Op::kOr, &budget_);
    ++joined;
    if (both) {
      texts = *std::move(both);
    } else {
      choices.push_back(sheet_.JsonString(*shape->texts));
    }
  }
  if (!words.empty()) {
    const auto listed = Dfa::OfWords(words);
    if (!listed) cut_ = true;
    if (!listed) return "string";
    choices.push_back(sheet_.JsonString(*listed));
  }
  if (texts) choices.push_back(sheet_.JsonString(*texts));
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : " | ") + choice;
  return all;
}

std::string SchemaRules::Numbers(const SchemaShape& shape) {
  if (shape.listed) return ListedNumbers(shape);
  if (auto rule = RuleOfNumbers(shape.range, &sheet_, &budget_)) return *std::move(rule);
  cut_ = true;
  return shape.range.integer ? "integer" : "number";
}

std::string SchemaRules::ListedNumbers(const SchemaShape& shape) {
  std::string all;
  if (shape.numbers.size() <= kExactNumbersMax) {
    for (const Json& number : shape.numbers) {
      all += (all.empty() ? "" : " | ") + RuleOfNumber(number, &sheet_, &budget_);
    }
    return all;
  }
  std::vector<std::string> whole;
  std::vector<std::string> others;
  for (const Json& number : shape.numbers) {
    (number.is_number_integer() ? whole : others).push_back(number.dump());
  }
  const auto wholes = Dfa::OfWords(whole);
  const auto fractions = Dfa::OfWords(others);
  if (!wholes || !fractions) {
    cut_ = true;
    return "number";
  }
  if (!whole.empty()) all = sheet_.RawText(*wholes, R"((~"." "0"{1,20})?)");
  if (others.empty()) return all;
  return all + (all.empty() ? "" : " | ") + sheet_.RawText(*fractions, R"("")");
}

std::string SchemaRules::List(const SchemaShape& shape) {
  const size_t first = shape.first_items.size();
  const size_t least = shape.items_min;
  const bool more = !shape.items_max || *shape.items_max > first;
  // From the last item to the first: what may follow each of them.
  std::string rest;
  if (more) {
    const size_t from = least > first ? least - first : 0;
    const auto to =
        shape.items_max ? std::optional<size_t>(*shape.items_max - first) : std::nullopt;
    const std::string item = Value(shape.item);
    if (first > 0) {
      rest = R"(("," ws )" + item + ")" + GbnfTimes(from, to);
    } else {
      const auto behind = to ? std::optional<size_t>(*to - 1) : std::nullopt;
      rest = item + R"( ("," ws )" + item + ")" + GbnfTimes(from > 0 ? from - 1 : 0, behind);
      if (behind == size_t{0}) rest = item;
      if (from == 0) return R"("[" ws ()" + rest + R"( ws)? "]")";
      return R"("[" ws )" + rest + R"( ws "]")";
    }
  }
  for (size_t i = first; i-- > 0;) {
    const std::string separator = i == 0 ? "" : R"("," ws )";
    std::string item = separator + Value(shape.first_items[i]) + (rest.empty() ? "" : " " + rest);
    if (i == 0) item += " ws";
    const bool optional = i >= least;
    rest = sheet_.Once(optional ? R"("" | )" + item : item);
  }
  return R"("[" ws )" + (rest.empty() ? "" : rest + " ") + R"("]")";
}

}  // namespace cairn
