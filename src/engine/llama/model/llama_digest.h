// DigestModel: which model a GGUF file holds, wherever it lies and whenever it was written. For
// llama_*.h and llama_*.cc only.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_DIGEST_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_DIGEST_H_

#include <string>

#include "base/result.h"

namespace cairn {

struct ModelDigest {
  std::string text;  // 32 hexadecimal digits
  // It has two sets of rotation factors, of which libllama takes one by the length of the context
  // (LongRoPE: Phi-3, MiniCPM3).
  bool rotates_by_context = false;
};

// Hashes each file of the model (`path` is the first): its length, all that stands before the
// weights (metadata, names, shapes and places of tensors), and of every tensor 4 KiB at its begin,
// every 16 MiB and its end. Another conversion, quantisation or training changes some of that.
// Weights that were changed by hand elsewhere, and nowhere else, are not noticed: reading all of a
// model of 20 GB would take longer than loading it. So it reads some 10 MB of it.
//
// kNotFound: a file is missing. kCorrupt: it is not what its table says.
Result<ModelDigest> DigestModel(const std::string& path);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_DIGEST_H_
