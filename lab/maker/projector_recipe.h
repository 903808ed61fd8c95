// ProjectorRecipe: the metadata and tensors of a synthetic projector, independent of libmtmd. A
// projector ("mmproj") is a file beside a text model: an encoder of images or recordings, and
// layers that turn its outputs into rows of the text model's width.
//
// A synthetic projector has a real architecture, few small layers and random weights. It computes
// like a real one, and its rows depend on every part of a picture, but mean nothing.
//
// Pure functions and plain data: any thread.

#ifndef CAIRN_LAB_MAKER_PROJECTOR_RECIPE_H_
#define CAIRN_LAB_MAKER_PROJECTOR_RECIPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/maker/model_recipe.h"

namespace cairn {

struct ProjectorShape {
  std::string kind;    // libmtmd's name for it, such as "qwen3vl_merger"
  uint32_t width = 0;  // embedding size of the text model
  uint64_t seed = 1;   // of the weights
};

struct ProjectorTensor {
  std::string name;
  std::vector<int64_t> sizes;  // in GGUF's order: the one that an output sums over comes first
  // The leading sizes that one output sums over: three of an image's patches, else one.
  size_t summed = 1;
};

struct ProjectorRecipe {
  ProjectorShape shape;
  Metadata metadata;
  std::vector<ProjectorTensor> tensors;
};

// Returns the kinds that MakeProjectorRecipe knows, in alphabetical order.
std::vector<std::string> KnownProjectors();

// kNotFound: an unknown kind; the message lists the known ones.
// kInvalidArgument: the width is 0 or too large.
Result<ProjectorRecipe> MakeProjectorRecipe(const ProjectorShape& shape);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_PROJECTOR_RECIPE_H_
