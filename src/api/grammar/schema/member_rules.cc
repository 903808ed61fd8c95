#include "api/grammar/schema/member_rules.h"

#include <algorithm>

namespace cairn {
namespace {

// So many properties in a row may be missing: a parse for each of them would be followed.
constexpr size_t kMissingMax = 300;

std::string Together(const std::vector<std::string>& elements) {
  std::string all;
  for (const std::string& element : elements) {
    if (!element.empty()) all += (all.empty() ? "" : " ") + element;
  }
  return all;
}

// The expression with the literal at its beginning, if there is one, marked as odd.
std::string Odd(const std::string& expression) {
  const bool literal = expression.size() > 2 && expression[0] == '"' && expression[1] != '"';
  return (literal ? "~" : "") + expression;
}

}  // namespace

std::vector<std::string> JsonKey(const std::string& name) {
  std::vector<std::string> key = {R"("\"")"};
  for (std::string& character : JsonCharacters(name)) key.push_back(std::move(character));
  key.emplace_back(R"("\"" ":" sp)");
  return key;
}

size_t FirstProperties(const SchemaShape& shape) {
  size_t count = 0;
  for (const SchemaShape::Property& property : shape.properties) {
    ++count;
    if (property.required) return count;
  }
  return count + shape.others.size();
}

MemberRules::MemberRules(const SchemaShape& shape, RuleSheet* sheet, const MemberSyntax* syntax)
    : shape_(shape), sheet_(*sheet), syntax_(*syntax) {
  counted_ =
      std::max({size_t{1}, shape.members_min, shape.members_max ? *shape.members_max + 1 : 0});
  required_.resize(shape.properties.size() + 1);
  for (size_t i = shape.properties.size(); i-- > 0;) {
    required_[i] = required_[i + 1] + (shape.properties[i].required ? 1 : 0);
  }
}

MemberRules::Elements MemberRules::Member(const SchemaShape::Property& property) const {
  Elements member = syntax_.key(property.name);
  // Objects that one value tells apart begin alike as far as that is so too.
  Elements value = syntax_.only_value ? syntax_.only_value(property.value) : Elements();
  if (value.empty()) value.push_back(syntax_.value(property.value));
  for (std::string& element : value) member.push_back(std::move(element));
  return member;
}

std::string MemberRules::Other() {
  if (other_) return *other_;
  std::string all;
  for (const SchemaShape::Others& others : shape_.others) {
    all += all.empty() ? "" : " | ";
    all +=
        syntax_.other_key(others, !shape_.properties.empty()) + " " + syntax_.value(others.value);
  }
  other_ = all.empty() ? "" : sheet_.Once(all);
  return *other_;
}

bool MemberRules::MayEnd(size_t at, size_t count) const {
  return required_[at] == 0 && count >= shape_.members_min;
}

bool MemberRules::Possible(size_t at, size_t count) const {
  if (shape_.members_max && count + required_[at] > *shape_.members_max) return false;
  return !shape_.others.empty() || count + shape_.properties.size() - at >= shape_.members_min;
}

bool MemberRules::CanGoOn(size_t at, size_t count) const {
  if (shape_.members_max && count >= *shape_.members_max) return false;
  return at < shape_.properties.size() || !shape_.others.empty();
}

std::string MemberRules::StateRule(bool one, size_t at, size_t count) {
  const std::pair<bool, std::pair<size_t, size_t>> state = {one, {at, count}};
  const auto [known, is_new] = states_.try_emplace(state);
  if (is_new) {
    known->second = sheet_.Name();
    open_.push_back(state);
  }
  return known->second;
}

std::string MemberRules::WriteOne(size_t at, size_t count) {
  std::string rule;
  const auto choice = [&](const std::string& text) { rule += (rule.empty() ? "" : " | ") + text; };
  if (at < shape_.properties.size()) {
    const SchemaShape::Property& property = shape_.properties[at];
    const std::string rest = Rest(at + 1, Next(count));
    if (!rest.empty()) {
      choice(Together(Member(property)) + " " + rest);
    }
    if (!property.required && Possible(at + 1, count) && CanGoOn(at + 1, count))
      choice(StateRule(true, at + 1, count));
    return rule;
  }
  if (shape_.others.empty()) return rule;
  const std::string rest = Rest(at, Next(count));
  if (!rest.empty()) choice(Other() + " " + rest);
  return rule;
}

// The empty text is written as one, because an element must stand there.
std::string MemberRules::Rest(size_t at, size_t count) {
  if (!Possible(at, count)) return "";
  if (!CanGoOn(at, count)) return MayEnd(at, count) ? R"("")" : "";
  return StateRule(false, at, count);
}

std::string MemberRules::WriteRest(size_t at, size_t count) {
  const bool ends = MayEnd(at, count);
  // Behind the named properties a model that meant something else had better end the object.
  const bool odd = ends && at > 0 && at >= shape_.properties.size();
  const std::string separator = odd ? Odd(syntax_.separator) : syntax_.separator;
  const std::string more = Together({separator, StateRule(true, at, count)});
  return ends ? R"("" | )" + more : more;
}

MemberRules::Elements MemberRules::Write() {
  size_t missing = 0;
  size_t longest = 0;
  for (const SchemaShape::Property& property : shape_.properties) {
    missing = property.required ? 0 : missing + 1;
    longest = std::max(longest, missing);
  }
  const bool counts = shape_.members_min > 0 || shape_.members_max;
  if (longest > kMissingMax && !counts) return WriteLoop();
  Elements elements = {syntax_.open};
  const bool ends = MayEnd(0, 0);
  const bool goes_on = CanGoOn(0, 0);
  const bool first =
      !ends && goes_on && !shape_.properties.empty() && shape_.properties[0].required;
  if (first) {
    const std::string rest = Rest(1, Next(0));
    for (std::string& part : Member(shape_.properties[0])) elements.push_back(std::move(part));
    // Without a way on, a character that is none.
    if (rest.empty()) elements.emplace_back(kNoText);
    if (rest != R"("")") elements.push_back(rest);
    elements.push_back(syntax_.space);
  } else if (goes_on) {
    const std::string some = StateRule(true, 0, 0);
    const std::string all = Together({some, syntax_.space});
    elements.push_back(ends ? "(" + all + ")?" : all);
  }
  elements.push_back(syntax_.close);
  while (!open_.empty() && !sheet_.full()) {
    const auto state = open_.back();
    open_.pop_back();
    const auto [at, count] = state.second;
    std::string rule = state.first ? WriteOne(at, count) : WriteRest(at, count);
    // A state that nothing leaves takes a character that is none.
    if (rule.empty()) rule = kNoText;
    sheet_.Add(states_.at(state), rule);
  }
  std::erase(elements, "");
  if (elements.empty()) elements.emplace_back(R"("")");
  return elements;
}

MemberRules::Elements MemberRules::WriteLoop() {
  std::vector<Elements> members;
  if (!shape_.others.empty()) members.push_back({Other()});
  Elements needed;
  for (const SchemaShape::Property& property : shape_.properties) {
    Elements member = Member(property);
    if (!property.required) {
      members.push_back(std::move(member));
      continue;
    }
    if (!needed.empty()) needed.push_back(syntax_.separator);
    needed.push_back(Together(member));
  }
  const std::string some = sheet_.Joined(std::move(members), "member");
  const std::string loop = sheet_.Name();
  sheet_.Add(loop, R"("" | )" + Together({syntax_.separator, some, loop}));
  const std::string first = needed.empty() ? some : Together(needed);
  const std::string inside = Together({first, loop, syntax_.space});
  Elements elements = {syntax_.open, needed.empty() ? "(" + inside + ")?" : inside, syntax_.close};
  std::erase(elements, "");
  return elements;
}

}  // namespace cairn
