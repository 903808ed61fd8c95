#include "lab/maker/llama_projector_maker.h"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "lab/maker/llama_gguf.h"
#include "lab/maker/model_weights.h"

namespace cairn {

Result<WrittenModel> WriteProjector(const ProjectorRecipe& recipe, const std::string& path) {
  const TemporaryFile file(path + "." + std::to_string(getpid()) + ".tmp");
  if (Status status = CheckWritable(path, file.path()); !status) {
    return tl::unexpected<Error>(status.error());
  }
  const GgufPtr gguf = ToGguf(recipe.metadata);
  const GgmlPtr context = TensorContext(recipe.tensors.size());
  std::vector<std::vector<float>> weights;  // gguf points into them
  WrittenModel written;
  for (const ProjectorTensor& planned : recipe.tensors) {
    ggml_tensor* tensor = ggml_new_tensor(
        context.get(), GGML_TYPE_F32, static_cast<int>(planned.sizes.size()), planned.sizes.data());
    ggml_set_name(tensor, planned.name.c_str());
    size_t row_size = 1;
    for (size_t i = 0; i < planned.summed; ++i) row_size *= planned.sizes[i];
    const auto values = static_cast<size_t>(ggml_nelements(tensor));
    weights.push_back(
        MakeWeights("clip", planned.name, row_size, values / row_size, recipe.shape.seed));
    tensor->data = weights.back().data();
    gguf_add_tensor(gguf.get(), tensor);
    written.parameters += values;
  }
  if (const Status done = WriteGguf(gguf.get(), file.path()); !done) {
    return tl::unexpected<Error>(done.error());
  }
  const Result<uint64_t> file_bytes = PutInPlace(file.path(), path);
  if (!file_bytes) return tl::unexpected<Error>(file_bytes.error());
  written.file_bytes = *file_bytes;
  return written;
}

}  // namespace cairn
