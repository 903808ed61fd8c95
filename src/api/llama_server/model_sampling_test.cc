#include "api/llama_server/model_sampling.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn {
namespace {

TEST(ModelSampling, IsUsedWhereNothingElseWasChosen) {
  ModelInfo info;
  info.sampling = {{"temp", "0.6"}, {"top_k", "20"}, {"sequence", "top_k;temperature"}};
  GenerationParams defaults;
  defaults.sampling.top_k = 7;  // by a flag
  const std::string line = UseModelSampling(info, &defaults);
  EXPECT_FLOAT_EQ(defaults.sampling.temperature, 0.6F);
  EXPECT_EQ(defaults.sampling.top_k, 7);
  EXPECT_EQ(defaults.sampling.order,
            (std::vector<SamplingStep>{SamplingStep::kTopK, SamplingStep::kTemperature}));
  EXPECT_EQ(line,
            "sampling as the model's file recommends: temperature 0.6, samplers "
            "top_k;temperature");
}

TEST(ModelSampling, ValuesWithoutSenseAreLeftOut) {
  ModelInfo info;
  info.sampling = {{"temp", "hot"}, {"top_p", "7"}, {"unknown", "1"}};
  GenerationParams defaults;
  EXPECT_EQ(UseModelSampling(info, &defaults), "");
  EXPECT_EQ(defaults.sampling.temperature, GenerationParams().sampling.temperature);
  EXPECT_EQ(defaults.sampling.top_p, GenerationParams().sampling.top_p);
  EXPECT_EQ(UseModelSampling({}, &defaults), "");
}

}  // namespace
}  // namespace cairn
