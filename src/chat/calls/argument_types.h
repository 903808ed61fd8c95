// ArgumentTypes: the argument types from a tool's schema, for model families that write arguments
// as bare text.

#ifndef CAIRN_CHAT_CALLS_ARGUMENT_TYPES_H_
#define CAIRN_CHAT_CALLS_ARGUMENT_TYPES_H_

#include <map>
#include <set>
#include <string>

namespace cairn {

class Json;

// Type names of JSON schema: "string", "integer" … Empty if the schema does not say.
using Types = std::set<std::string>;

// The types that a schema allows for one argument.
struct ArgumentSchema {
  Types types = {};
  // Strings are these alone, unless `any_text`.
  std::set<std::string> words = {};
  bool any_text = false;
};

// The types of one tool's arguments. Constant after construction; any thread.
class ArgumentTypes {
 public:
  // `schema` is the JSON schema of an object, needed only here; null or anything else gives no
  // types.
  explicit ArgumentTypes(const Json* schema);

  const Types& Of(const std::string& argument) const;
  // Whether the argument is a string, whatever its text.
  bool IsText(const std::string& argument) const;
  // Returns the value that the text stands for, as JSON text. A text that fits none of the types
  // stays a string, because the tool reports the error better.
  std::string Value(const std::string& argument, const std::string& text) const;

 private:
  const ArgumentSchema& SchemaOf(const std::string& argument) const;

  std::map<std::string, ArgumentSchema, std::less<>> schemas_;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_ARGUMENT_TYPES_H_
