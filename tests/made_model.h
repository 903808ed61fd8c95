// A small made qwen35, for tests that start the program.

#ifndef CAIRN_TESTS_MADE_MODEL_H_
#define CAIRN_TESTS_MADE_MODEL_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "lab/maker/llama_model_maker.h"
#include "lab/maker/model_recipe.h"

namespace cairn::test {

// Where a test may write what no other test shall see: tests run side by side, each in a process of
// its own.
inline std::string OwnPath(const std::string& name) {
  return testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_" + name;
}

// Writes it and returns its path. The tests of one `owner` share the file, which always holds the
// same and is put in place as a whole.
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
