#include "engine/llama/model/llama_pointers.h"

#include <llama.h>

namespace cairn {

void LlamaModelDeleter::operator()(llama_model* model) const {
  llama_model_free(model);
}
void LlamaContextDeleter::operator()(llama_context* context) const {
  llama_free(context);
}

}  // namespace cairn
