// DigestModel: identifies the model in a GGUF file, independent of the file's path and time. For
// llama_*.h and llama_*.cc only.

#ifndef CAIRN_ENGINE_LLAMA_GGUF_LLAMA_DIGEST_H_
#define CAIRN_ENGINE_LLAMA_GGUF_LLAMA_DIGEST_H_

#include <string>

#include "base/result.h"

namespace cairn {

struct ModelDigest {
  std::string text;  // 32 hexadecimal digits
  // It has two sets of rotation factors, of which libllama selects one by the length of the context
  // (LongRoPE: Phi-3, MiniCPM3).
  bool rotates_by_context = false;
};

// Hashes each file of the model (`path` is the first): its length, everything before the weights
// (metadata, names, shapes and places of tensors), and of every tensor 4 KiB at its beginning,
// every 16 MiB and at its end. Another conversion, quantisation or training changes some of that.
// Weights that were changed by hand elsewhere, and nowhere else, are not noticed: reading all of a
// 20 GB model would take longer than loading it. So it reads some 10 MB of it.
//
// kNotFound if a file is missing. kCorrupt if its contents do not match its table.
Result<ModelDigest> DigestModel(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_GGUF_LLAMA_DIGEST_H_
