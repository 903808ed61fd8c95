// The sampling that a model's file recommends ("general.sampling.temp" and the like), as defaults
// of requests.

#ifndef CAIRN_API_LLAMA_SERVER_MODEL_SAMPLING_H_
#define CAIRN_API_LLAMA_SERVER_MODEL_SAMPLING_H_

#include <string>

#include "engine/engine.h"
#include "sched/request/generation_request.h"

namespace cairn {

// Changes those of the settings that have their usual values: the others were chosen by flags.
// Returns a line for the log that names what was changed; empty if nothing was. Values that make no
// sense are left out. Any thread.
std::string UseModelSampling(const ModelInfo& info, GenerationParams* defaults);

}  // namespace cairn

#endif  // CAIRN_API_LLAMA_SERVER_MODEL_SAMPLING_H_
