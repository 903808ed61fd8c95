// Synthetic models and projectors for tests, small enough to be made anew by every test program.

#ifndef CAIRN_TESTING_ENGINE_TEST_MODELS_H_
#define CAIRN_TESTING_ENGINE_TEST_MODELS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "engine/llama/model/llama_options.h"
#include "lab/maker/llama_model_maker.h"

namespace cairn::test {

// MadeModels: the model and projector files of one test program; removed when it ends.
class MadeModels {
 public:
  MadeModels() = default;
  ~MadeModels() {
    std::error_code error;
    for (const auto& [key, path] : paths_) std::filesystem::remove(path, error);
  }
  MadeModels(const MadeModels&) = delete;
  MadeModels& operator=(const MadeModels&) = delete;

  // Returns the path of a model of that architecture, made when it is first requested.
  // `window_tokens`: see ModelShape. `quant`: see WriteOptions.
  const std::string& Path(const std::string& architecture, uint32_t window_tokens,
                          const std::string& quant) {
    const std::string name = architecture + "-" + std::to_string(window_tokens) + "-" + quant;
    ModelShape shape;
    shape.architecture = architecture;
    shape.window_tokens = window_tokens;
    return Made(name, shape, quant);
  }

  // Likewise, in float32 with a head for multi-token prediction. `right`: ModelShape::mtp_right.
  const std::string& PathWithHead(const std::string& architecture, float right) {
    ModelShape shape;
    shape.architecture = architecture;
    shape.mtp = true;
    shape.mtp_right = right;
    return Made(architecture + "-head-" + std::to_string(right), shape, "f32");
  }

  // Returns the path of a projector of that kind, made when it is first requested. `width`: the
  // embedding size of its text model.
  const std::string& ProjectorPath(const std::string& kind, uint32_t width) {
    const std::string name = "mmproj-" + kind + "-" + std::to_string(width);
    const auto known = paths_.find(name);
    if (known != paths_.end()) return known->second;
    std::string path = NewPath(name);
    const auto recipe = MakeProjectorRecipe({kind, width});
    EXPECT_TRUE(recipe.has_value());
    EXPECT_TRUE(WriteProjector(*recipe, path).has_value());
    return paths_.emplace(name, std::move(path)).first->second;
  }

 private:
  const std::string& Made(const std::string& name, ModelShape shape, const std::string& quant) {
    const auto known = paths_.find(name);
    if (known != paths_.end()) return known->second;
    shape.width = 64;
    std::string path = NewPath(name);
    const auto recipe = MakeRecipe(shape);
    EXPECT_TRUE(recipe.has_value());
    EXPECT_TRUE(WriteModel(*recipe, path, {quant, {}}).has_value());
    return paths_.emplace(name, std::move(path)).first->second;
  }

  static std::string NewPath(const std::string& name) {
    return testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_" + name + ".gguf";
  }

  std::map<std::string, std::string> paths_;
};

inline MadeModels& TestModels() {
  static MadeModels models;
  return models;
}
inline const std::string& MadeModel(const std::string& architecture, uint32_t window_tokens = 0,
                                    const std::string& quant = "q8_0") {
  return TestModels().Path(architecture, window_tokens, quant);
}
inline const std::string& MadeModelWithHead(const std::string& architecture, float right = -1) {
  return TestModels().PathWithHead(architecture, right);
}
// The default width is that of the models.
inline const std::string& MadeProjector(const std::string& kind, uint32_t width = 64) {
  return TestModels().ProjectorPath(kind, width);
}

// One thread, because on a busy machine threads that wait for each other take many times as long.
inline LlamaOptions SmallOptions(const std::string& path) {
  LlamaOptions options;
  options.model_path = path;
  options.context_tokens = 4096;
  options.ubatch_tokens = 128;
  options.threads = 1;
  options.grid_tokens = 64;
  return options;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTING_ENGINE_TEST_MODELS_H_
