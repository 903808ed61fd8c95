// FileBytes: how large a model's files are, before it is loaded.
//
// Reads the file system. Any thread.

#ifndef CAIRN_FLEET_ROUTER_CHILDREN_FILE_BYTES_H_
#define CAIRN_FLEET_ROUTER_CHILDREN_FILE_BYTES_H_

#include <cstdint>

#include "fleet/router/children/model_set.h"

namespace cairn {

// Returns the sizes of the GGUF files that the model's flags name, of all parts of a model in
// parts. A file that cannot be looked at counts nothing.
uint64_t FileBytes(const ModelEntry& model);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_CHILDREN_FILE_BYTES_H_
