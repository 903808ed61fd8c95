// SchemaRules: writes nodes of a schema's normal form as rules of a grammar for JSON.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_RULES_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_RULES_H_

#include <string>
#include <utility>
#include <vector>

#include "api/grammar/rules/rule_sheet.h"
#include "api/grammar/schema/member_rules.h"
#include "api/grammar/schema/schema_nodes.h"

namespace cairn {

// Used by one thread.
class SchemaRules {
 public:
  SchemaRules(const SchemaRules&) = delete;
  SchemaRules& operator=(const SchemaRules&) = delete;
  // Both outlive it. So many nodes have rules of their own; others are written as any value of
  // their types.
  SchemaRules(const SchemaNodes* nodes, size_t rules_max, RuleSheet* sheet);

  // Returns an expression for the node's values as JSON. The rules are written by WriteAll.
  std::string Value(NodeId id);
  // The same for values of these types alone.
  std::string Value(NodeId id, TypeSet types);
  // Writes the rules of all nodes that were asked for, and of those inside them.
  void WriteAll();
  const SchemaNodes& nodes() const { return nodes_; }
  // How many nodes have rules, and whether others were asked for.
  size_t asked() const { return asked_; }
  bool cut() const { return cut_ || sheet_.wide(); }

 private:
  using Elements = MemberRules::Elements;

  std::string ShapesRule(const std::vector<SchemaShape>& shapes, TypeSet types);
  std::string Strings(const std::vector<const SchemaShape*>& shapes);
  std::string Numbers(const SchemaShape& shape);
  std::string ListedNumbers(const SchemaShape& shape);
  std::string List(const SchemaShape& shape);

  // Any value of those types that the node's values have.
  std::string Loose(NodeId id, TypeSet held);

  const SchemaNodes& nodes_;
  RuleSheet& sheet_;
  const size_t rules_max_;
  WorkBudget budget_;
  MemberSyntax json_;
  std::vector<std::string> names_;  // by node; empty where it was not asked for
  std::vector<NodeId> open_;
  size_t asked_ = 0;
  bool cut_ = false;
};

// Returns an expression for any one number that is equal to it. Any thread.
std::string RuleOfNumber(const Json& number, RuleSheet* sheet, WorkBudget* budget);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_RULES_H_
