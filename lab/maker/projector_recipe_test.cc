#include "lab/maker/projector_recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace cairn {
namespace {

const ProjectorTensor* Find(const ProjectorRecipe& recipe, const std::string& name) {
  const auto found = std::find_if(recipe.tensors.begin(), recipe.tensors.end(),
                                  [&](const ProjectorTensor& t) { return t.name == name; });
  return found == recipe.tensors.end() ? nullptr : &*found;
}

TEST(ProjectorRecipe, NamesTheKnownKindsWhenItDoesNotKnowOne) {
  const auto recipe = MakeProjectorRecipe({"camera", 64});
  ASSERT_FALSE(recipe.has_value());
  EXPECT_EQ(recipe.error().code, ErrorCode::kNotFound);
  EXPECT_NE(recipe.error().message.find("gemma3, lfm2, qwen2a, qwen3vl_merger"), std::string::npos)
      << recipe.error().message;
}

TEST(ProjectorRecipe, RefusesAWidthThatNoModelHas) {
  for (const uint32_t width : {0U, 100'000U}) {
    const auto recipe = MakeProjectorRecipe({"gemma3", width});
    ASSERT_FALSE(recipe.has_value());
    EXPECT_EQ(recipe.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(recipe.error().message.find(std::to_string(width)), std::string::npos);
  }
}

TEST(ProjectorRecipe, EveryKindHasOneEncoderAndNoTensorTwice) {
  for (const std::string& kind : KnownProjectors()) {
    SCOPED_TRACE(kind);
    const auto recipe = MakeProjectorRecipe({kind, 64});
    ASSERT_TRUE(recipe.has_value());
    const bool images = FindMetadata(recipe->metadata, "clip.has_vision_encoder") != nullptr;
    const bool audio = FindMetadata(recipe->metadata, "clip.has_audio_encoder") != nullptr;
    EXPECT_NE(images, audio);
    for (const ProjectorTensor& tensor : recipe->tensors) {
      EXPECT_EQ(Find(*recipe, tensor.name), &tensor) << tensor.name;
      EXPECT_LE(tensor.summed, tensor.sizes.size()) << tensor.name;
    }
  }
}

TEST(ProjectorRecipe, TheLastMatrixHasTheWidthOfTheTextModel) {
  const auto width_of = [](const std::string& kind, const std::string& name, size_t size) {
    const auto recipe = MakeProjectorRecipe({kind, 96});
    const ProjectorTensor* tensor = recipe ? Find(*recipe, name) : nullptr;
    return tensor == nullptr ? 0 : tensor->sizes[size];
  };
  EXPECT_EQ(width_of("qwen3vl_merger", "mm.2.weight", 1), 96);
  EXPECT_EQ(width_of("lfm2", "mm.2.weight", 1), 96);
  EXPECT_EQ(width_of("qwen2a", "mm.a.fc.weight", 1), 96);
  EXPECT_EQ(width_of("gemma3", "mm.input_projection.weight", 0), 96);
}

}  // namespace
}  // namespace cairn
