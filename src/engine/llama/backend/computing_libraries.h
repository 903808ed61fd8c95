// ComputingLibraries: lists the libraries and settings that determine the compute kernels, as
// loaded in this process.
//
// A math library picks its kernels by the size of a batch, so two builds of it can agree on the few
// tokens that a start decodes and differ on a chunk of 512. Its build ID distinguishes them and
// costs nothing to read.
//
//   libggml-cpu.so 3f2a…, libopenblas.so 77c0…
//
// Threads: any, once the backends are loaded.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_COMPUTING_LIBRARIES_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_COMPUTING_LIBRARIES_H_

#include <string>
#include <string_view>

namespace cairn {

// Whether a library of that path multiplies matrices, or calls one that does: libllama, libmtmd,
// ggml's libraries, BLAS, those of GPU vendors, and Vulkan's drivers, which compile the kernels.
// The C library's math functions do not depend on the size of a batch, so the tokens that a start
// decodes cover them.
bool IsComputingLibrary(std::string_view path);

// Returns "NAME BUILD-ID, …", sorted by name; NAME is without its version. A library without a
// build ID has the last part of its path instead, so that a versioned file name still distinguishes
// it. Empty where the system does not report loaded libraries.
std::string ComputingLibraries();

// Returns "NAME=value, …", sorted by name: the environment variables that select kernels (GGML_*,
// and those of BLAS and of the GPU's libraries).
std::string ComputingSettings();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_COMPUTING_LIBRARIES_H_
