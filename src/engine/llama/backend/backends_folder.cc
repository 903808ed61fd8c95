#include "engine/llama/backend/backends_folder.h"

namespace cairn {

const char* BackendsFolder() {
  return CAIRN_BACKENDS_DIR;
}

}  // namespace cairn
