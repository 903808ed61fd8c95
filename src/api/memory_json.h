// MemoryJson: a model's memory traits as JSON, for /props and `cairn model check --json`.

#ifndef CAIRN_API_MEMORY_JSON_H_
#define CAIRN_API_MEMORY_JSON_H_

#include "api/json.h"
#include "engine/engine.h"

namespace cairn {

// Returns an object with a field for every trait, named as in MemoryTraits.
Json MemoryJson(const MemoryTraits& traits);

}  // namespace cairn

#endif  // CAIRN_API_MEMORY_JSON_H_
