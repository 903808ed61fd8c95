// LoadProjector: loads a projector's file with libmtmd, and owners of libmtmd's objects. For
// engine/media/llama_media_encoder.cc only.

#ifndef CAIRN_ENGINE_MEDIA_LLAMA_PROJECTOR_H_
#define CAIRN_ENGINE_MEDIA_LLAMA_PROJECTOR_H_

#include <llama.h>
#include <mtmd.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/llama/model/llama_pointers.h"
#include "engine/media/llama_media_encoder.h"

namespace cairn {

struct MtmdDeleter {
  void operator()(mtmd_context* context) const { mtmd_free(context); }
  void operator()(mtmd_bitmap* bitmap) const { mtmd_bitmap_free(bitmap); }
  void operator()(mtmd_input_chunks* chunks) const { mtmd_input_chunks_free(chunks); }
};
using MtmdContextPtr = std::unique_ptr<mtmd_context, MtmdDeleter>;
using MtmdBitmapPtr = std::unique_ptr<mtmd_bitmap, MtmdDeleter>;
using MtmdChunksPtr = std::unique_ptr<mtmd_input_chunks, MtmdDeleter>;

struct LlamaProjector {
  // The text model without weights, if the engine may sleep; `context` points to it.
  LlamaModelPtr frame;
  MtmdContextPtr context;
  std::string digest;
  int32_t threads = 0;
};

// `model`: the engine's. Errors are those of LlamaMediaEncoder::Load.
Result<LlamaProjector> LoadProjector(const MediaEncoderOptions& options,
                                     const std::string& model_path, const llama_model* model);

}  // namespace cairn

#endif  // CAIRN_ENGINE_MEDIA_LLAMA_PROJECTOR_H_
