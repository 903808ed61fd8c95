// ArgumentTypes: what a tool's schema says its arguments are, for families of models that write
// them as bare text.

#ifndef CAIRN_CHAT_CALLS_ARGUMENT_TYPES_H_
#define CAIRN_CHAT_CALLS_ARGUMENT_TYPES_H_

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace cairn {

// JSON schema's words: "string", "integer" … None: the schema does not say.
using Types = std::set<std::string>;

// Of one tool's arguments. Constant after construction; any thread.
class ArgumentTypes {
 public:
  // `schema`: the JSON schema of an object, as text; anything else says nothing.
  explicit ArgumentTypes(std::string_view schema);

  const Types& Of(const std::string& argument) const;
  // The argument is a string, whatever its text.
  bool IsText(const std::string& argument) const;
  // The value that the text stands for, as JSON text. A text that fits none of the types stays a
  // string: the tool will say so better.
  std::string Value(const std::string& argument, const std::string& text) const;

 private:
  std::map<std::string, Types, std::less<>> types_;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_CALLS_ARGUMENT_TYPES_H_
