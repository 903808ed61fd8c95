// MemoryJson: a model's memory as /props and `cairn model check --json` show it.

#ifndef CAIRN_API_ADMIN_MEMORY_JSON_H_
#define CAIRN_API_ADMIN_MEMORY_JSON_H_

#include "api/json.h"
#include "engine/engine.h"

namespace cairn {

// An object with a field for every trait, named as in MemoryTraits.
Json MemoryJson(const MemoryTraits& traits);

}  // namespace cairn

#endif  // CAIRN_API_ADMIN_MEMORY_JSON_H_
