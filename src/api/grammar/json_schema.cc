#include "api/grammar/json_schema.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "api/grammar/pattern/dfa.h"
#include "api/grammar/pattern/regex.h"
#include "api/grammar/rules/json_grammar.h"
#include "api/grammar/rules/rule_sheet.h"
#include "api/grammar/schema/schema_nodes.h"
#include "api/grammar/schema/schema_rules.h"

namespace cairn {
namespace {

// Beyond these, values deep inside the schema are any value of their types.
constexpr size_t kRulesMax = 20000;
constexpr size_t kPatternStepsMax = 20'000'000;

ApiResult<std::string> ObjectsOf(SchemaRules* rules, const RulesTarget& target) {
  const SchemaNodes& nodes = rules->nodes();
  const std::vector<SchemaShape>& shapes = nodes.nodes[nodes.root].shapes;
  const bool any = std::any_of(shapes.begin(), shapes.end(), [](const SchemaShape& shape) {
    return (shape.types & kObjectType) != 0;
  });
  if (!any) return tl::unexpected(FieldError(target.field + ".type", "'object'"));
  return rules->Value(nodes.root, kObjectType);
}

ApiResult<std::string> GrammarOfTexts(const std::optional<Dfa>& texts, const std::string& field,
                                      const std::string& expected) {
  if (!texts || texts->empty()) return tl::unexpected(FieldError(field, expected));
  RuleSheet sheet("", RulesTarget().bytes_max);
  const std::string root = sheet.RawText(*texts, R"("")");
  if (sheet.full()) return tl::unexpected(FieldError(field, expected));
  return "root ::= " + root + "\n" + sheet.text();
}

}  // namespace

ApiResult<std::string> RulesOfSchema(const Json& schema, const RulesTarget& target,
                                     const WriteSchema& write) {
  auto nodes = NodesOfSchema(schema, target.field);
  if (!nodes) return tl::unexpected(nodes.error());
  Loosened* const loosened = target.loosened;
  if (loosened != nullptr) loosened->insert(nodes->loosened.begin(), nodes->loosened.end());
  // The nodes nearest to the root come first, so it is the deepest that are left out.
  for (size_t rules_max = kRulesMax;; rules_max /= 4) {
    RuleSheet sheet(target.prefix, target.bytes_max);
    SchemaRules rules(&*nodes, rules_max, &sheet);
    const auto root = write(&rules, &sheet);
    if (!root) return root;
    rules.WriteAll();
    rules_max = std::min(rules_max, rules.asked());
    if (sheet.full() && rules_max > 0) continue;
    if (sheet.full()) {
      return tl::unexpected(FieldError(target.field, "a schema with fewer or shorter names"));
    }
    if (loosened != nullptr && rules.cut()) loosened->insert(target.field);
    return target.prefix + "root ::= " + *root + "\n" + sheet.text();
  }
}

ApiResult<std::string> GrammarOfSchema(const Json& schema, const std::string& field,
                                       Loosened* loosened) {
  RulesTarget target{field, ""};
  target.loosened = loosened;
  auto text = RulesOfSchema(schema, target, [](SchemaRules* rules, RuleSheet*) {
    return ApiResult<std::string>(rules->Value(rules->nodes().root));
  });
  if (text) *text = WithJsonRules(*std::move(text));
  return text;
}

ApiResult<std::string> RulesOfObjects(const Json& schema, const RulesTarget& target) {
  return RulesOfSchema(schema, target,
                       [&](SchemaRules* rules, RuleSheet*) { return ObjectsOf(rules, target); });
}

std::string GrammarOfAnyObject() {
  return WithJsonRules("root ::= object\n");
}

ApiResult<std::string> GrammarOfPattern(const Json& pattern, const std::string& field) {
  const std::string expected =
      "a regular expression that some text matches, without references back and look-behind, and "
      "of bounded size";
  if (!pattern.is_string()) return tl::unexpected(FieldError(field, expected));
  WorkBudget budget(kPatternStepsMax);
  return GrammarOfTexts(DfaOfPattern("^(?:" + pattern.text() + ")$", &budget), field, expected);
}

ApiResult<std::string> GrammarOfChoice(const Json& choices, const std::string& field) {
  const std::string expected = "a list of at least one string, together of bounded size";
  if (!choices.is_array()) return tl::unexpected(FieldError(field, expected));
  std::vector<std::string> words;
  for (const Json& choice : choices) {
    if (!choice.is_string()) return tl::unexpected(FieldError(field, expected));
    words.push_back(choice.text());
  }
  return GrammarOfTexts(Dfa::OfWords(words), field, expected);
}

}  // namespace cairn
