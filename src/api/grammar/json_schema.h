// Translates a JSON schema to GBNF (engine/grammar/grammar.h) for the answers that it allows.
//
//   {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
//     ->  root ::= "{" ws "\"age\"" ":" sp integer "}" …
//
// A keyword that a grammar cannot enforce is refused, never ignored, so an answer matches all of
// the schema. Two exceptions: oneOf is treated as anyOf, and without additionalProperties only
// named properties are allowed. Properties come in the order of the schema.

#ifndef CAIRN_API_GRAMMAR_JSON_SCHEMA_H_
#define CAIRN_API_GRAMMAR_JSON_SCHEMA_H_

#include <string>

#include "api/json.h"

namespace cairn {

// Returns GBNF rules, the first of which is "root". Any thread. An error is a 400 whose field is
// the path of the keyword: with `field` "response_format.schema", for instance
// "response_format.schema.properties.age.multipleOf".
ApiResult<std::string> GrammarOfSchema(const Json& schema, const std::string& field);

// The same for use with the rules of other schemas: all names begin with `prefix`, which has
// letters, digits and '-'; the first is `prefix` + "root". The rules of JsonRules() are used but
// not included.
ApiResult<std::string> RulesOfSchema(const Json& schema, const std::string& field,
                                     const std::string& prefix);

// Returns rules for any JSON object, for response_format "json_object".
std::string GrammarOfAnyObject();

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_JSON_SCHEMA_H_
