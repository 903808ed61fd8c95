// The libraries and settings that decide which kernels compute, as loaded in this process.
//
// A library of mathematics picks its kernels by the size of a batch, so two builds of it can agree
// on the few tokens that a start decodes and differ on a chunk of 512. Its build ID tells them
// apart and costs nothing.
//
//   libggml-cpu.so 3f2a…, libopenblas.so 77c0…
//
// Threads: any, once the backends are loaded.

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_COMPUTING_LIBRARIES_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_COMPUTING_LIBRARIES_H_

#include <string>
#include <string_view>

namespace cairn {

// Whether a library of that path multiplies matrices, or has others do it: libllama, ggml's, BLAS,
// those of a GPU's vendor. The C library's mathematics does not choose by the size of a batch, so
// the tokens that a start decodes show it.
bool IsComputingLibrary(std::string_view path);

// "NAME BUILD-ID, …", by name; NAME is without its version. A library without a build ID has the
// last part of its path instead, so that a versioned file name still tells. Empty where the system
// does not say what is loaded.
std::string ComputingLibraries();

// "NAME=value, …", by name: the variables of the environment that choose kernels (GGML_*, and those
// of BLAS and of the GPU's libraries).
std::string ComputingSettings();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_COMPUTING_LIBRARIES_H_
