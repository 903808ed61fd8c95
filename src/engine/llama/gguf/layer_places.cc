#include "engine/llama/gguf/layer_places.h"

#include <algorithm>

namespace cairn {
namespace {

constexpr std::string_view kLayer = "layer ";
constexpr std::string_view kAssigned = " assigned to device ";
constexpr std::string_view kCpu = "CPU";

}  // namespace

void LayerPlaces::Hear(std::string_view line) {
  const size_t assigned = line.find(kAssigned);
  if (assigned == std::string_view::npos) return;
  const std::string_view before = line.substr(0, assigned);
  const size_t layer = before.rfind(kLayer);
  if (layer == before.npos) return;
  // "layer 3 is assigned to device CUDA0 but the …" is a warning about a layer that was told of.
  const std::string_view number = before.substr(layer + kLayer.size());
  if (number.find_first_not_of(" 0123456789") != number.npos) return;
  std::string_view device = line.substr(assigned + kAssigned.size());
  device = device.substr(0, device.find_first_of(", "));
  const MutexLock lock(mutex_);
  if (runs_.empty() || runs_.back().first != device) runs_.emplace_back(device, 0);
  ++runs_.back().second;
}

size_t LayerPlaces::LayersOn(std::string_view device) const {
  const MutexLock lock(mutex_);
  size_t layers = 0;
  for (const auto& [name, count] : runs_) layers += name == device ? count : 0;
  return layers;
}

std::string LayerPlaces::Text() const {
  const MutexLock lock(mutex_);
  const auto on_cpu = [](const Run& run) { return run.first == kCpu; };
  if (std::all_of(runs_.begin(), runs_.end(), on_cpu)) return "";
  std::string text;
  for (const auto& [name, count] : runs_) {
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  }
  return text;
}

}  // namespace cairn
