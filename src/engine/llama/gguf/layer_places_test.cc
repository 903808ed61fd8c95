#include "engine/llama/gguf/layer_places.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(LayerPlaces, AreRunsOfLayersOnADevice) {
  LayerPlaces places;
  places.Hear("load_tensors: loading model tensors, this can take a while... (mmap = true)");
  places.Hear("load_tensors: layer   0 assigned to device CPU, is_swa = 0");
  for (const char* layer : {"1", "2", "3"}) {
    places.Hear("load_tensors: layer   " + std::string(layer) +
                " assigned to device RPC0, is_swa = 1");
  }
  places.Hear("load_tensors: layer  10 assigned to device RPC1, is_swa = 0");
  EXPECT_EQ(places.Text(), "CPU 1, RPC0 3, RPC1 1");
  EXPECT_EQ(places.LayersOn("RPC0"), 3U);
  EXPECT_EQ(places.LayersOn("RPC1"), 1U);
  EXPECT_EQ(places.LayersOn("RPC2"), 0U);
}

TEST(LayerPlaces, OnTheCpuAloneHaveNoText) {
  LayerPlaces places;
  EXPECT_EQ(places.Text(), "");
  places.Hear("load_tensors: layer   0 assigned to device CPU, is_swa = 0");
  EXPECT_EQ(places.Text(), "");
  EXPECT_EQ(places.LayersOn("CPU"), 1U);
}

TEST(LayerPlaces, AreNotInOtherLines) {
  LayerPlaces places;
  places.Hear("tensor 'x' assigned to device RPC0");
  places.Hear("layer 3 of RPC0");
  places.Hear(
      "llama_context: layer 3 is assigned to device RPC0 but the Flash Attention tensor is "
      "assigned to device CPU (usually due to missing support)");
  places.Hear("");
  EXPECT_EQ(places.Text(), "");
  EXPECT_EQ(places.LayersOn("RPC0"), 0U);
}

}  // namespace
}  // namespace cairn
