// WriteModel: makes the GGUF file of a synthetic model (lab/maker/model_recipe.h).

#ifndef CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_
#define CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "lab/maker/model_recipe.h"

namespace cairn {

struct WriteOptions {
  std::string quant = "q8_0";  // one of KnownQuants()
  LogSink log;                 // receives libllama's log; becomes the process's only sink
};

struct WrittenModel {
  uint64_t parameters = 0;
  uint64_t file_bytes = 0;
};

// Returns the names of the number types in which a model can be written.
std::vector<std::string> KnownQuants();

// Makes the model at `path`; an existing file is replaced atomically, and no other file remains.
// Needs twice the model's size as float32 in memory and once on disk beside `path`. The same recipe
// and quant give the same bytes. Any thread.
//
// kNotFound: an unknown quant; the message lists the known ones.
// kInvalidArgument: `path` cannot be written.
// kUnsupported: this libllama refuses the architecture or the recipe's metadata.
// kInternal: writing or quantising failed, usually for lack of disk space.
Result<WrittenModel> WriteModel(const ModelRecipe& recipe, const std::string& path,
                                const WriteOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_
