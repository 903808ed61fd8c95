// StateFacts: everything that the bits of a state depend on, as text. Two engines with the same
// facts may restore each other's states. Code that keeps states beyond an engine's lifetime hashes
// the text and files states under the hash.
//
// A superfluous fact costs a cache that could have been used. A missing one admits bits that this
// engine would not have computed. So in doubt a setting is included.
//
// Pure functions and plain data: any thread.

#ifndef CAIRN_ENGINE_LLAMA_STATE_STATE_FACTS_H_
#define CAIRN_ENGINE_LLAMA_STATE_STATE_FACTS_H_

#include <string>
#include <utility>
#include <vector>

#include "engine/llama/model/llama_options.h"

namespace cairn {

// Names and values, in a fixed order.
using StateFacts = std::vector<std::pair<std::string, std::string>>;

// Returns the facts of all options that may change bits. These are left out because they change
// none:
//
//   model_path, use_mmap, use_mlock, check_tensors   how the weights come into memory
//   context_tokens                                   room; see LlamaEngine::StateIdentity
//   threads, threads_batch                           the resulting counts are facts of the context
//   batch_tokens                                     chunks are never larger than ubatch_tokens
//   grid_*, find_smallest_grid                       the result is a fact, not how it was found
//
// A default that stands for the model's setting is a value of its own, because the model is a fact
// too. So is "auto" for flash attention: libllama's choice follows from the other facts. Several
// slots in one buffer are one value, however many there are.
StateFacts FactsOf(const LlamaOptions& options);

// Returns one `name=value` per line. Line breaks in a value are written as "\n" or "\r", and a
// backslash as two.
std::string FactsText(const StateFacts& facts);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_STATE_FACTS_H_
