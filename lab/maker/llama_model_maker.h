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
  LogSink log;                 // what libllama says; the process's only sink from then on
};

struct WrittenModel {
  uint64_t parameters = 0;
  uint64_t file_bytes = 0;
};

// Names of the number types a model can be written in.
std::vector<std::string> KnownQuants();

// Makes the model at `path`, replacing a file that is there. The file appears whole or not at all;
// nothing else stays behind. Needs twice the model's size as float32 in memory and once on disk
// beside `path`. The same recipe and quant give the same bytes. Any thread.
//
// kNotFound: an unknown quant; the message lists the known ones.
// kInvalidArgument: `path` cannot be written.
// kUnsupported: this libllama refuses the architecture or the recipe's metadata.
// kInternal: writing or quantising failed half-way, mostly for want of disk space.
Result<WrittenModel> WriteModel(const ModelRecipe& recipe, const std::string& path,
                                const WriteOptions& options);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_
