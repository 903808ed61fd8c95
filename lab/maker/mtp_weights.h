// The weights of a synthetic model that has a head for multi-token prediction (ModelShape::mtp).
//
// A random head is hardly ever right, because nothing has taught it. So a share of letters may be
// given (ModelShape::mtp_right) behind which it is: the model's layers then add little to the
// embedding of the last token, and the head passes the embedding of its own last token on to the
// same output. In front of the other letters the head's output rows are exchanged, so it is wrong.
//
// Pure functions: any thread.

#ifndef CAIRN_LAB_MAKER_MTP_WEIGHTS_H_
#define CAIRN_LAB_MAKER_MTP_WEIGHTS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "lab/maker/model_recipe.h"

namespace cairn {

// Whether the tensor is one that only heads have: "blk.4.nextn.eh_proj.weight".
bool IsHeadTensor(std::string_view tensor);
// Whether the file should have it. Real files share the model's embeddings and mostly its output.
bool HeadWantsTensor(const ModelShape& shape, std::string_view tensor);
// As MakeWeights, for any tensor of a model of this shape.
std::vector<float> WeightsWithHead(const ModelShape& shape, std::string_view tensor,
                                   size_t row_size, size_t rows);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_MTP_WEIGHTS_H_
