// LayerPlaces: the devices that libllama put a model's layers on, in the order of the layers.
// libllama has no function for it and says it in its log, a line for each layer:
//
//   load_tensors: layer   3 assigned to device RPC0, is_swa = 0
//
// The output layer counts as a layer. Without such lines the places are unknown, and Text is empty.
//
// Threads: any.

#ifndef CAIRN_ENGINE_LLAMA_GGUF_LAYER_PLACES_H_
#define CAIRN_ENGINE_LLAMA_GGUF_LAYER_PLACES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace cairn {

class LayerPlaces {
 public:
  // Takes a line of the log while the model is loaded.
  void Hear(std::string_view line);

  // Returns how many layers each device has.
  size_t LayersOn(std::string_view device) const;
  // Returns runs of layers on the same device, "CPU 2, RPC0 5, RPC1 4"; empty if all are on the
  // CPU.
  std::string Text() const;

 private:
  using Run = std::pair<std::string, size_t>;

  mutable Mutex mutex_;
  std::vector<Run> runs_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_GGUF_LAYER_PLACES_H_
