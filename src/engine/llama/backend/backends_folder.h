// BackendsFolder: where the build was told that ggml's backends are. It stands in a file of its own
// because a program that is made to be packaged has them elsewhere (cmake/Package.cmake).

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_BACKENDS_FOLDER_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_BACKENDS_FOLDER_H_

namespace cairn {

// Empty: wherever ggml itself looks. Any thread.
const char* BackendsFolder();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_BACKENDS_FOLDER_H_
