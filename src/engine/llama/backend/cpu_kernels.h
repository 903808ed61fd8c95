// CpuUsesAmx: whether ggml computes with a CPU's AMX, whose kernels sum in tiles.
// UseKernelsThatKeepBits: chooses among ggml's libraries for CPUs one whose sums do not depend on
// what else is in a batch, nor on where in the cache a token lies.
//
//   libggml-cpu-sapphirerapids.so   scores highest on a CPU with AMX, which sums in tiles
//   libggml-cpu-cooperlake.so       the best of the others: row by row
//   libggml-cpu-haswell.so …
//
// ggml itself loads the library with the highest score for the CPU that it runs on.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_CPU_KERNELS_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_CPU_KERNELS_H_

#include <string>

#include "base/result.h"

namespace cairn {

// REQUIRES: InitLlamaBackend. Any thread.
bool CpuUsesAmx();

struct KernelChoice {
  std::string left;  // the library that ggml had chosen; empty if its kernels keep bits
  std::string used;  // the one that is used instead
};

// Replaces the library if its kernels use AMX. kUnsupported if they do and there is no other one
// for this CPU, or if ggml has its kernels for CPUs built in; then nothing has changed.
// REQUIRES: InitLlamaBackend, and nothing was loaded or computed yet. The main thread.
Result<KernelChoice> UseKernelsThatKeepBits();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_CPU_KERNELS_H_
