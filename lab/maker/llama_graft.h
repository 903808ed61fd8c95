// GraftModel: puts the weights of a llama model into the frame of a hybrid one (falcon-h1), for
// demonstrations where no released hybrid model can be fetched.
//
// falcon-h1 has attention and a Mamba2 branch side by side in every layer; its attention and its
// feed-forward layers are those of llama. So the weights are copied as they are, the rows of
// queries and keys put into the order of the other rope. The branch gets random weights, and an
// output of zeros: its recurrent state is computed, cannot be rolled back and has to be restored
// like any other, and the answers are those of the original. The reverse of the coin: they do not
// depend on the state, so they would not show a state that was restored wrongly.

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

// Makes the file `to`, replacing one that is there; it appears whole or not at all. Needs memory
// for the original. `log`: what libllama says; the process's only sink from then on. Any thread.
//
// kNotFound: `from` cannot be read or is no GGUF file.
// kInvalidArgument: `to` cannot be written.
// kUnsupported: the model is no llama, or has parts that the frame has no place for.
// kInternal: writing failed half-way, mostly for want of disk space.
Result<GraftedModel> GraftModel(const std::string& from, const std::string& to, const LogSink& log);

}  // namespace cairn

#endif  // CAIRN_LAB_MAKER_LLAMA_GRAFT_H_
