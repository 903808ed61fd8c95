// GraftModel: puts the weights of a llama model into the frame of a hybrid one (falcon-h1), for
// demonstrations where no released hybrid model can be fetched.
//
// falcon-h1 has attention and a Mamba2 branch in parallel in every layer; its attention and its
// feed-forward layers are those of llama. So the weights are copied unchanged, except that the rows
// of queries and keys are reordered for the other rope. The branch gets random weights and a zero
// output: its recurrent state is computed, cannot be rolled back and must be restored like any
// other, and the answers are the original's. On the other hand the answers do not depend on the
// state, so they cannot reveal a wrong restore.

#ifndef CAIRN_LAB_MAKER_LLAMA_GRAFT_H_
#define CAIRN_LAB_MAKER_LLAMA_GRAFT_H_

#include <cstdint>
#include <string>

#include "base/log.h"
#include "base/result.h"

namespace cairn {

struct GraftedModel {
  std::string name;  // of the original
  uint32_t layers = 0;
  uint64_t state_bytes = 0;  // of one sequence's recurrent state
  uint64_t file_bytes = 0;
};

// Makes the file `to`; it is replaced atomically if it exists. Needs memory for the original model.
// `log` receives libllama's log and becomes the process's only sink. Any thread.
//
// kNotFound: `from` cannot be read or is not a GGUF file.
// kInvalidArgument: `to` cannot be written.
// kUnsupported: the model is not a llama, or has tensors that the frame lacks.
// kInternal: the write failed, usually for lack of disk space.
Result<GraftedModel> GraftModel(const std::string& from, const std::string& to, const LogSink& log);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_GRAFT_H_
