// Filters, tests, methods, operators and functions: all that Jinja and Python's types have built
// in.

#ifndef CAIRN_JINJA_RUN_BUILTINS_H_
#define CAIRN_JINJA_RUN_BUILTINS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/run/interpreter.h"
#include "jinja/value/number.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

// A call's arguments by the parameters of what is called. A parameter list is written as
// "width,first=,blank=": those with "=" may be missing. "/" in front: arguments only by place.
// "*": anything, which the function looks at itself.
class Bound {
 public:
  Bound(std::string_view function, std::string_view parameters, const Arguments& arguments);

  // Null if it was not given.
  const Value* operator[](size_t index) const { return values_[index]; }
  const Arguments& all() const { return all_; }
  bool Flag(size_t index) const { return values_[index] != nullptr && IsTrue(*values_[index]); }

 private:
  const Arguments& all_;
  std::vector<const Value*> values_;
};

using BuiltinFunction = Value (*)(Interpreter&, const Value& subject, const Bound&);
using BuiltinTest = bool (*)(Interpreter&, const Value& subject, const Bound&);

struct FilterDefinition {
  const char* name;
  const char* parameters;
  BuiltinFunction run;
};
struct TestDefinition {
  const char* name;
  const char* parameters;
  BuiltinTest run;
};
struct MethodDefinition {
  const char* name;
  const char* parameters;
  BuiltinFunction run;
};

// Null if there is none of the name.
const FilterDefinition* FindFilter(std::string_view name);
const TestDefinition* FindTest(std::string_view name);
// A method of Python's type of the value. Null if it has none of the name.
const MethodDefinition* FindMethod(const Value& self, std::string_view name);
// A method of texts; their table fills a file of its own.
const MethodDefinition* FindTextMethod(std::string_view name);
// list.append, where Limits::append_to_lists allows it.
const MethodDefinition* FindAppend(const Value& self, std::string_view name);
// Whether Python's type has a method of the name that the sandbox forbids.
bool IsForbiddenMethod(const Value& self, std::string_view name);

// A function that every template may call: range, dict, namespace, cycler, joiner. Undefined if
// there is none of the name.
Value MakeGlobal(Heap* heap, std::string_view name);

// `a` `operation` `b`, for all types.
Value Operate(Interpreter& run, Arithmetic operation, const Value& a, const Value& b);
// An integer from a value that must be one.
Int IntegerOf(const Value& value);
// A number of items or characters, at most `max`; negative ones count as 0.
size_t CountOf(const Value& value, size_t max = SIZE_MAX / 2);
// A text from a value that must be one.
Text TextArgument(const Value& value, std::string_view what);

// `format` % `values`
Value FormatPercent(Interpreter& run, const Text& format, const Value& values);
// format.format(...)
Value FormatBraces(Interpreter& run, const Text& format, const Arguments& arguments);
// HTML without comments and tags, with single spaces for white space, and the common entities as
// the characters that they stand for.
std::string WithoutTags(std::string_view html);
// A value in lines of at most 80 characters, as Python's pprint writes it; texts are not broken.
std::string PrettyPrinted(Heap* heap, const Value& value);

// Tables of the files beside this one; each ends with an entry without a name.
extern const FilterDefinition kTextFilters[];
extern const FilterDefinition kListFilters[];
extern const FilterDefinition kChoiceFilters[];
extern const FilterDefinition kValueFilters[];

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_RUN_BUILTINS_H_
