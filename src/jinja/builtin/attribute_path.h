// The `attribute` argument of filters: "user.name", "0.id" or a number.

#ifndef CAIRN_JINJA_BUILTIN_ATTRIBUTE_PATH_H_
#define CAIRN_JINJA_BUILTIN_ATTRIBUTE_PATH_H_

#include <vector>

#include "jinja/run/builtins.h"

namespace cairn::jinja {

class AttributePath {
 public:
  // Null and none: the item itself.
  AttributePath(Interpreter& run, const Value* attribute);
  // `otherwise` is for what is undefined; null and none: it stays so.
  Value Of(const Value& item, const Value* otherwise = nullptr) const;

 private:
  Interpreter& run_;
  std::vector<Value> parts_;
};

// One key of several paths ("name,age"), for sorting; texts in lower case unless `case_sensitive`.
class SortKey {
 public:
  SortKey(Interpreter& run, const Value* attributes, bool case_sensitive);
  Value Of(const Value& item) const;

 private:
  Interpreter& run_;
  const bool case_sensitive_;
  std::vector<AttributePath> paths_;
};

// A text in lower case; other values as they are.
Value WithoutCase(Interpreter& run, const Value& value);
// A stable sort by keys.
void SortByKeys(Interpreter& run, const std::vector<Value>& keys, bool reverse,
                std::vector<Value>* items);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_BUILTIN_ATTRIBUTE_PATH_H_
