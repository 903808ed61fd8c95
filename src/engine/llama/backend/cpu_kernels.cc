#include "engine/llama/backend/cpu_kernels.h"

#include <dlfcn.h>
#include <ggml-backend.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKernelsPrefix = "libggml-cpu-";
// The exported function with which ggml compares its libraries; 0: not for this CPU.
constexpr const char* kScoreFunction = "ggml_backend_score";
constexpr const char* kFeaturesFunction = "ggml_backend_get_features";

struct LibraryCloser {
  void operator()(void* library) const { dlclose(library); }
};

int ScoreOf(const fs::path& file) {
  const std::unique_ptr<void, LibraryCloser> library(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) return 0;
  const auto score = reinterpret_cast<int (*)()>(dlsym(library.get(), kScoreFunction));
  return score == nullptr ? 0 : score();
}

// The libraries of the folder that run on this CPU, the best one first.
std::vector<fs::path> KernelLibraries(const fs::path& folder) {
  std::vector<std::pair<int, fs::path>> scored;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kKernelsPrefix) || entry.path().extension() != ".so") continue;
    if (const int score = ScoreOf(entry.path()); score > 0)
      scored.emplace_back(score, entry.path());
  }
  std::sort(scored.begin(), scored.end(), std::greater<>());
  std::vector<fs::path> files;
  for (auto& [score, file] : scored) files.push_back(std::move(file));
  return files;
}

bool UsesAmx(ggml_backend_reg_t backend) {
  const auto features = reinterpret_cast<ggml_backend_get_features_t>(
      ggml_backend_reg_get_proc_address(backend, kFeaturesFunction));
  if (features == nullptr) return false;
  for (const ggml_backend_feature* feature = features(backend); feature->name != nullptr;
       ++feature) {
    if (std::string_view(feature->name).starts_with("AMX")) return true;
  }
  return false;
}

// The file that the backend's functions come from; empty if that cannot be told.
fs::path LibraryOf(ggml_backend_reg_t backend) {
  Dl_info found = {};
  void* const function = ggml_backend_reg_get_proc_address(backend, kFeaturesFunction);
  if (function == nullptr || dladdr(function, &found) == 0 || found.dli_fname == nullptr) return {};
  return found.dli_fname;
}

std::string NameOf(const fs::path& file) {
  return file.stem().string();
}

// nullptr if ggml has no backend for CPUs.
ggml_backend_reg_t CpuBackend() {
  ggml_backend_dev_t const device = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  return device == nullptr ? nullptr : ggml_backend_dev_backend_reg(device);
}

}  // namespace

bool CpuUsesAmx() {
  ggml_backend_reg_t const backend = CpuBackend();
  return backend != nullptr && UsesAmx(backend);
}

Result<KernelChoice> UseKernelsThatKeepBits() {
  ggml_backend_reg_t const chosen = CpuBackend();
  if (chosen == nullptr || !UsesAmx(chosen)) return KernelChoice{};
  const fs::path file = LibraryOf(chosen);
  const std::string name = NameOf(file);
  if (!file.filename().string().starts_with(kKernelsPrefix)) {
    return Fail(ErrorCode::kUnsupported, "ggml's kernels for CPUs use AMX, and are built into " +
                                             (name.empty() ? "it" : name));
  }
  for (const fs::path& other : KernelLibraries(file.parent_path())) {
    if (other.filename() == file.filename()) continue;
    ggml_backend_reg_t const loaded = ggml_backend_load(other.c_str());
    if (loaded == nullptr) continue;
    const bool keeps_bits = !UsesAmx(loaded);
    ggml_backend_unload(keeps_bits ? chosen : loaded);
    if (keeps_bits) return KernelChoice{name, NameOf(other)};
  }
  return Fail(ErrorCode::kUnsupported,
              name + " uses AMX, and there is no other library for this CPU beside it in " +
                  file.parent_path().string());
}

}  // namespace cairn
