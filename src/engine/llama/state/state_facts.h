// StateFacts: what the bits of a state depend on, in words. Two engines with the same facts may
// take each other's states; whoever keeps states for longer than an engine lives hashes the text
// and files them under it.
//
// A fact too many costs a cache that could have been used. One too few lets in bits that this
// engine would not have made. So in doubt a setting is in.
//
// Pure functions and plain data: any thread.

#ifndef CAIRN_ENGINE_LLAMA_STATE_STATE_FACTS_H_
#define CAIRN_ENGINE_LLAMA_STATE_STATE_FACTS_H_

#include <string>
#include <utility>
#include <vector>

#include "engine/llama/model/llama_options.h"

namespace cairn {

// Names and values, in an order that does not change.
using StateFacts = std::vector<std::pair<std::string, std::string>>;

// Of what libllama is asked for, all that may move bits. Left out, because it moves none:
//
//   model_path, use_mmap, use_mlock, check_tensors   how the weights come into memory
//   context_tokens                                   room; see LlamaEngine::StateIdentity
//   threads, threads_batch                           what they come to is a fact of the context
//   batch_tokens                                     pieces are never larger than ubatch_tokens
//   grid_*, find_smallest_grid                       what was found is a fact, not how
//
// A default that stands for "as the model says" is a value of its own: the model is a fact too. So
// is "auto" for flash attention: what libllama makes of it follows from the other facts. Several
// slots in one buffer are one value, however many they are.
StateFacts FactsOf(const LlamaOptions& options);

// `name=value` a line. What would make a value more than one line is written as "\n" or "\r", and a
// backslash as two.
std::string FactsText(const StateFacts& facts);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_STATE_FACTS_H_
