// ArgumentRules: the arguments of a call, one by one, for families that do not write them as one
// JSON object: a part of api/grammar/call_grammar.cc.

#ifndef CAIRN_API_GRAMMAR_ARGUMENT_RULES_H_
#define CAIRN_API_GRAMMAR_ARGUMENT_RULES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/api_error.h"
#include "api/grammar/json_schema.h"
#include "api/grammar/rules/rule_sheet.h"
#include "api/grammar/schema/member_rules.h"
#include "api/grammar/schema/schema_nodes.h"
#include "api/grammar/schema/schema_rules.h"
#include "chat/syntax/learned_calls.h"

namespace cairn {

// Used by one thread; all outlive it.
class ArgumentRules {
 public:
  // `syntax` is one of name-value pairs.
  ArgumentRules(const LearnedCalls& syntax, const RulesTarget& target, SchemaRules* rules,
                RuleSheet* sheet);
  ArgumentRules(const ArgumentRules&) = delete;
  ArgumentRules& operator=(const ArgumentRules&) = delete;

  // Returns an expression for the pairs of all objects that fit the schema: strings verbatim, all
  // else as JSON or in the syntax's own notation. It uses the rules of BareTextRules(). Fails if a
  // required argument has a name that the syntax cannot write; others are left out.
  ApiResult<std::string> Write();

 private:
  std::string Pair(NodeId id);
  // The text and what closes it, of the node's strings; empty if it has none.
  std::string Text(NodeId id, bool beside_structure);
  std::optional<Dfa> TextsOf(NodeId id);
  std::string Other(const std::string& value, std::string_view type) const;
  std::string Others(NodeId id, TypeSet types);
  // In the notation of a syntax with its own quotes.
  std::string Quoted(NodeId id);
  std::string QuotedShape(const SchemaShape& shape, TypeSet types);
  std::string QuotedList(const SchemaShape& shape);
  void WriteQuoted();
  // Characters that no name of an argument may have.
  std::string NoKey() const;
  std::string OtherKey(const SchemaShape::Others& others, const std::string& behind, bool odd);
  // Leaves out properties whose names cannot be written.
  SchemaShape Writable(const SchemaShape& shape, std::string_view forbidden);

  const LearnedCalls& syntax_;
  const RulesTarget& target_;
  SchemaRules& rules_;
  RuleSheet& sheet_;
  WorkBudget budget_;
  const bool told_apart_;
  const std::string close_;  // the tag that ends a text
  MemberSyntax quoted_ = {};
  std::map<NodeId, std::string> quoted_names_;
  std::vector<NodeId> quoted_open_;
  std::optional<ApiError> error_;
};

// Whether `text` is a name of ASCII letters, digits and underscores that begins with no digit; the
// characters of `more` may occur in it too.
bool IsIdentifier(std::string_view text, std::string_view more = "");

// Returns an expression for the arguments of a Python call: name=value, with values as JSON.
ApiResult<std::string> PythonArguments(const RulesTarget& target, SchemaRules* rules,
                                       RuleSheet* sheet);

// Rules that ArgumentRules use.
std::string BareTextRules(const LearnedCalls& syntax);

// Returns rules for any text up to and including the first `end`; the first rule is `name`. Nullopt
// if the first character of `end` occurs in it again, because the rules cannot express that.
std::string GbnfUntil(const std::string& name, std::string_view end);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_ARGUMENT_RULES_H_
