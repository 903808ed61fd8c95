// Attributes, items and slices, as the sandbox looks them up. Raise Failures.

#ifndef CAIRN_JINJA_RUN_LOOKUP_H_
#define CAIRN_JINJA_RUN_LOOKUP_H_

#include <string_view>

#include "jinja/run/interpreter.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

// object.name: what Python's type has of the name, or else the item.
Value AttributeOf(Interpreter& run, const Value& object, std::string_view name);
// object[key]: the item, or else what Python's type has of the name.
Value ItemOf(Interpreter& run, const Value& object, const Value& key);
// As AttributeOf, but no items.
Value OnlyAttributeOf(Interpreter& run, const Value& object, std::string_view name);
bool IsSliceable(const Value& object);
// object[begin:end:step]; none where one is left out.
Value SliceOf(Interpreter& run, const Value& object, const Value& begin, const Value& end,
              const Value& step);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_RUN_LOOKUP_H_
