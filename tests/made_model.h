// A small synthetic qwen35, for tests that start the program.

#ifndef CAIRN_TESTS_MADE_MODEL_H_
#define CAIRN_TESTS_MADE_MODEL_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "lab/maker/llama_model_maker.h"
#include "lab/maker/model_recipe.h"

namespace cairn::test {

// Returns a path for a test's private files: tests run concurrently, each in a process of its own.
//
inline std::string OwnPath(const std::string& name) {
  return testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_" + name;
}

// Writes the model and returns its path. The tests of one `owner` share the file, whose contents
// are always the same and which is replaced atomically.
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
