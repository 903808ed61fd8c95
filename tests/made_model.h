// A small made qwen35, for tests that start the program.

#ifndef CAIRN_TESTS_MADE_MODEL_H_
#define CAIRN_TESTS_MADE_MODEL_H_

#include <gtest/gtest.h>

#include <string>

#include "engine/llama_model_maker.h"
#include "engine/model_recipe.h"

namespace cairn::test {

// Writes it and returns its path. `owner` names the test: programs may run side by side.
inline std::string WriteMadeModel(const std::string& owner) {
  std::string file = testing::TempDir() + owner + "_qwen35.gguf";
  ModelShape shape;
  shape.architecture = "qwen35";
  const auto recipe = MakeRecipe(shape);
  EXPECT_TRUE(recipe.has_value());
  EXPECT_TRUE(WriteModel(*recipe, file, {}).has_value());
  return file;
}

}  // namespace cairn::test

#endif  // CAIRN_TESTS_MADE_MODEL_H_
