// ControlVector: directions that are added to the hidden states of a model's layers, as
// --control-vector names them: GGUF files with the tensors "direction.1", "direction.2", … for the
// layers behind the first.
//
// Threads: any. For src/engine/ only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_CONTROL_VECTOR_H_
#define CAIRN_ENGINE_LLAMA_MODEL_CONTROL_VECTOR_H_

#include <llama.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/llama/model/llama_options.h"

namespace cairn {

struct ControlVector {
  size_t width = 0;         // numbers of one layer; 0: there is no vector
  std::vector<float> rows;  // those of the layers 1, 2, …, one behind the other

  bool empty() const { return width == 0; }
};

// Reads the files of the options and adds them up, each times its scale. kNotFound: a file cannot
// be read; kInvalidArgument: it is no control vector, or two are of models of other widths.
Result<ControlVector> ReadControlVectors(const std::vector<LlamaOptions::ControlFile>& files);

// Has the context add it, in the layers of the options. Does nothing if it is empty.
// kInvalidArgument: it is of another model.
Status ApplyControlVector(const ControlVector& vector, const LlamaOptions& options,
                          const llama_model* model, llama_context* context);

// Returns what the bits of states depend on, as a fact (state_facts.h): a hash of the numbers, and
// the layers. Empty without a vector.
std::string ControlVectorFact(const ControlVector& vector, const LlamaOptions& options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_CONTROL_VECTOR_H_
