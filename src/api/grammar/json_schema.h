// Translates a JSON schema to GBNF (engine/grammar/grammar.h) for the answers that it allows.
//
//   {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
//     ->  root ::= "{" ws "\"" x61 x67 x65 "\"" ":" sp integer …
//
// The schema is brought to a normal form (schema/schema_nodes.h), and that is written as rules. Up
// to the order of properties, which is the schema's, and to white space, the grammar allows
// everything that the schema allows. A keyword that it cannot hold is left out and named. What is
// enforced, and how it is measured: docs/decisions/0051-schemas.md.

#ifndef CAIRN_API_GRAMMAR_JSON_SCHEMA_H_
#define CAIRN_API_GRAMMAR_JSON_SCHEMA_H_

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "api/json.h"

namespace cairn {

class RuleSheet;
class SchemaRules;

// The places of keywords that a grammar does not enforce, such as
// "schema.properties.a.uniqueItems".
using Loosened = std::set<std::string>;

// Returns GBNF rules, the first of which is "root", and adds to `loosened`, which may be null. Any
// thread. An error is a 400 whose field is the place: the schema is none, leads nowhere, or nothing
// fits it. With `field` "response_format.schema", a place is for instance
// "response_format.schema.properties.age.type".
ApiResult<std::string> GrammarOfSchema(const Json& schema, const std::string& field,
                                       Loosened* loosened = nullptr);

// Where the rules of a schema are to stand among those of others.
struct RulesTarget {
  std::string field;   // the schema's name in errors
  std::string prefix;  // of all names; letters, digits and '-'
  size_t bytes_max = size_t{700} << 10;
  Loosened* loosened = nullptr;  // may be null
};

// Writes a schema's rules by `write`, which returns the expression of its root. The first rule is
// the prefix + "root"; the rules of WithJsonRules() are used but not included. `write` is called
// again, with fewer rules for what is deep inside the schema, while the text is too long.
using WriteSchema = std::function<ApiResult<std::string>(SchemaRules* rules, RuleSheet* sheet)>;
ApiResult<std::string> RulesOfSchema(const Json& schema, const RulesTarget& target,
                                     const WriteSchema& write);

// The same for the objects that fit the schema, as JSON.
ApiResult<std::string> RulesOfObjects(const Json& schema, const RulesTarget& target);

// Returns rules for any JSON object, for response_format "json_object".
std::string GrammarOfAnyObject();

// Returns rules, the first of which is "root", for the texts that the whole of `pattern` matches,
// without quotes. Any thread. A 400 that names `field` if it is no regular expression, or one of
// which no grammar can be made: with look-behind, references back, or very many states.
ApiResult<std::string> GrammarOfPattern(const Json& pattern, const std::string& field);

// The same for one of the texts of a list.
ApiResult<std::string> GrammarOfChoice(const Json& choices, const std::string& field);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_JSON_SCHEMA_H_
