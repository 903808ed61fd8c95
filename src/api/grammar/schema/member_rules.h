// MemberRules: the members of one object as rules of a grammar. Properties come in their order,
// those that are not required may be missing, and other names come behind them.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_MEMBER_RULES_H_
#define CAIRN_API_GRAMMAR_SCHEMA_MEMBER_RULES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/grammar/rules/rule_sheet.h"
#include "api/grammar/schema/schema_nodes.h"

namespace cairn {

// How objects are written: as JSON, or as the arguments of a call.
struct MemberSyntax {
  // Returns the elements of a name and of what stands between it and its value.
  std::function<std::vector<std::string>(const std::string& name)> key;
  // The same, as one expression, for names that no property has. They are odd (grammar.h) beside
  // properties.
  std::function<std::string(const SchemaShape::Others& others, bool odd)> other_key;
  // Returns the expression of a node.
  std::function<std::string(NodeId node)> value;
  // Returns the elements of a node's only value, if it has but one; else none. May be empty.
  std::function<std::vector<std::string>(NodeId node)> only_value = {};
  // Expressions; any of them may be empty.
  std::string open = {};
  std::string separator = {};
  std::string space = {};  // before `close`, behind a member
  std::string close = {};
};

class MemberRules {
 public:
  using Elements = std::vector<std::string>;

  // All outlive it.
  MemberRules(const SchemaShape& shape, RuleSheet* sheet, const MemberSyntax* syntax);

  // Returns the elements of the object. Those of a property that must come first stand apart, so
  // that objects which begin alike can be joined.
  Elements Write();

 private:
  // Behind `count` members, what comes of those from `at` on: nothing, or a comma and more. Empty
  // if the object cannot be completed.
  std::string Rest(size_t at, size_t count);
  // The rule of a state; it is written once.
  std::string StateRule(bool one, size_t at, size_t count);
  std::string WriteOne(size_t at, size_t count);
  std::string WriteRest(size_t at, size_t count);
  // Too many properties in a row may be missing: they come in any order, behind the required ones.
  Elements WriteLoop();
  bool MayEnd(size_t at, size_t count) const;
  // Whether what is required, and as many as are needed, can still come.
  bool Possible(size_t at, size_t count) const;
  bool CanGoOn(size_t at, size_t count) const;
  std::string Other();
  // One member, whose name is a property's.
  Elements Member(const SchemaShape::Property& property) const;
  size_t Next(size_t count) const { return count < counted_ ? count + 1 : count; }

  const SchemaShape& shape_;
  RuleSheet& sheet_;
  const MemberSyntax& syntax_;
  size_t counted_ = 1;            // members beyond so many are not counted
  std::vector<size_t> required_;  // how many are required from each property on
  std::optional<std::string> other_;
  std::map<std::pair<bool, std::pair<size_t, size_t>>, std::string> states_;
  std::vector<std::pair<bool, std::pair<size_t, size_t>>> open_;
};

// Returns the elements of a name in a JSON object, with the colon behind it.
std::vector<std::string> JsonKey(const std::string& name);

// Returns how many properties may come first, or begin the same way: parses of a grammar are as
// many.
size_t FirstProperties(const SchemaShape& shape);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_MEMBER_RULES_H_
