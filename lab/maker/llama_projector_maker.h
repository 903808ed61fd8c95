// WriteProjector: makes the GGUF file of a synthetic projector (lab/maker/projector_recipe.h).

#ifndef CAIRN_LAB_MAKER_LLAMA_PROJECTOR_MAKER_H_
#define CAIRN_LAB_MAKER_LLAMA_PROJECTOR_MAKER_H_

#include <string>

#include "base/result.h"
#include "lab/maker/llama_model_maker.h"
#include "lab/maker/projector_recipe.h"

namespace cairn {

// Makes the projector at `path`, in float32; an existing file is replaced atomically, and no other
// file remains. The same recipe gives the same bytes. Any thread.
//
// kInvalidArgument: `path` cannot be written.
// kInternal: writing failed, usually for lack of disk space.
Result<WrittenModel> WriteProjector(const ProjectorRecipe& recipe, const std::string& path);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_PROJECTOR_MAKER_H_
