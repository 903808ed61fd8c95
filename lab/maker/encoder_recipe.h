// The recipes of synthetic encoders: models that compute vectors of texts, or scores with a
// classification head, and write nothing. See lab/maker/model_recipe.h, whose MakeRecipe makes
// these too.
//
// Pure functions: any thread.

#ifndef CAIRN_LAB_MAKER_ENCODER_RECIPE_H_
#define CAIRN_LAB_MAKER_ENCODER_RECIPE_H_

#include <string>
#include <string_view>
#include <vector>

#include "lab/maker/model_recipe.h"

namespace cairn {

// Returns the encoders that can be made, in alphabetical order.
std::vector<std::string> KnownEncoders();
// The encoders among them that can have a classification head.
std::vector<std::string> KnownEncodersThatRank();

// Whether a file of this encoder has this tensor, which libllama accepts.
bool EncoderWantsTensor(const ModelShape& shape, std::string_view tensor);

// REQUIRES: an architecture of KnownEncoders(). Errors as in MakeRecipe.
Result<ModelRecipe> MakeEncoderRecipe(const ModelShape& wanted);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_ENCODER_RECIPE_H_
