// BackendsFolder: the folder of ggml's backends that the build was configured with. It stands in a
// file of its own because a packaged program has them elsewhere (cmake/Package.cmake).

#ifndef CAIRN_ENGINE_LLAMA_BACKEND_BACKENDS_FOLDER_H_
#define CAIRN_ENGINE_LLAMA_BACKEND_BACKENDS_FOLDER_H_

namespace cairn {

// Empty: ggml's own search path is used. Any thread.
const char* BackendsFolder();

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_BACKEND_BACKENDS_FOLDER_H_
