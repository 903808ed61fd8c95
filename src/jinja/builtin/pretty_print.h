// Values in lines of at most 80 characters, as Python's pprint writes them; texts are not broken.

#ifndef CAIRN_JINJA_BUILTIN_PRETTY_PRINT_H_
#define CAIRN_JINJA_BUILTIN_PRETTY_PRINT_H_

#include <string>

#include "jinja/value/heap.h"
#include "jinja/value/value.h"

namespace cairn::jinja {

std::string PrettyPrinted(Heap* heap, const Value& value);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_BUILTIN_PRETTY_PRINT_H_
