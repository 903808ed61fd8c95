// WriteModel: makes the GGUF file of a synthetic model (lab/maker/model_recipe.h).

#ifndef CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_
#define CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "lab/maker/model_recipe.h"
#include "lab/maker/projector_recipe.h"

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

// WriteProjector: makes the GGUF file of a synthetic projector (lab/maker/projector_recipe.h).

// Makes the projector at `path`, in float32; an existing file is replaced atomically, and no other
// file remains. The same recipe gives the same bytes. Any thread.
//
// kInvalidArgument: `path` cannot be written.
// kInternal: writing failed, usually for lack of disk space.
Result<WrittenModel> WriteProjector(const ProjectorRecipe& recipe, const std::string& path);

// WriteAdapter: makes the GGUF file of a synthetic LoRA adapter for a synthetic model.
struct AdapterShape {
  uint32_t rank = 4;
  float strength = 1;  // how much it changes beside the weights themselves, at scale 1
  uint64_t seed = 1;   // of the weights
};

// Makes an adapter that changes the attention and feed-forward weights of the model of `recipe` at
// `path`; an existing file is replaced atomically. The same recipe and shape give the same bytes.
// Any thread. Errors as WriteModel's.
Status WriteAdapter(const ModelRecipe& recipe, const AdapterShape& shape, const std::string& path,
                    const LogSink& log = {});

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_MODEL_MAKER_H_
