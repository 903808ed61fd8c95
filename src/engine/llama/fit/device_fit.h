// Chooses how much of a model goes onto the GPUs, so that it loads: the layers, the context, and
// the layers whose experts stay on the CPU. The flags and the order of the steps are llama.cpp's
// (`--fit`); the sizes are estimates from the file's metadata:
//
//   needed = weights + KV cache + recurrent states + compute buffers      of what is on the GPUs
//   room   = memory that no other program uses, less --fit-target, of all GPUs
//
//   1. everything, if needed <= room
//   2. a shorter context, if --ctx-size was not given, but at least --fit-ctx
//   3. the experts of as few layers as possible on the CPU
//   4. as many layers as possible
//
// Workers of --rpc count as GPUs, with the memory that they report; the parts that they get by
// default are fixed shares (SplitByMemory), so the first that is full ends the room.
//
// The KV cache of attention is most of a long context. A snapshot costs no device memory: it is
// copied to the host's (--cache-ram).
//
// Threads: any.

#ifndef CAIRN_ENGINE_LLAMA_FIT_DEVICE_FIT_H_
#define CAIRN_ENGINE_LLAMA_FIT_DEVICE_FIT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/llama/fit/model_layout.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/model_devices.h"

namespace cairn {

struct FitChoice {
  int32_t gpu_layers = -1;  // negative: all; as in libllama, the output layer is the first of them
  int32_t cpu_moe_layers = 0;
  uint64_t context_tokens = 0;
  uint64_t needed_bytes = 0;  // of the choice
  uint64_t room_bytes = 0;
  // False: not even the least that may be chosen fits, and the choice is what was asked for.
  bool fits = true;
};

// Returns the bytes on the GPUs with `choice`.
uint64_t NeededBytes(const ModelLayout& layout, const LlamaOptions& options,
                     const FitChoice& choice);

// Returns the bytes that the model may take on `gpus` together.
uint64_t RoomBytes(const ModelLayout& layout, const LlamaOptions& options,
                   const std::vector<GpuDevice>& gpus);

// Changes only what `options` leaves open. REQUIRES: `gpus` is not empty.
FitChoice FitToDevices(const ModelLayout& layout, const LlamaOptions& options,
                       const std::vector<GpuDevice>& gpus);

// Returns the line at start that says what was chosen and how to choose otherwise; empty if the
// choice is all that was asked for.
std::string FitText(const ModelLayout& layout, const LlamaOptions& options,
                    const FitChoice& choice);

// Reads the model's layout and sets what `options` leaves open. Returns FitText, or why the model
// could not be looked at; empty if there is nothing to choose: --fit off, or no GPU. A model that
// cannot be read is reported by the load that follows.
std::string ApplyFit(const std::vector<GpuDevice>& gpus, LlamaOptions* options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_FIT_DEVICE_FIT_H_
