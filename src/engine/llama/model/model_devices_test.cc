#include "engine/llama/model/model_devices.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "engine/llama/backend/llama_backend.h"

namespace cairn::model_devices_test {
namespace {

constexpr size_t kGib = size_t{1} << 30;

GpuDevice Gpu(const std::string& name, size_t free_gib) {
  return {name, "Made GPU", free_gib * kGib, 16 * kGib};
}

GpuDevice Worker(const std::string& name, size_t total_bytes) {
  return {name, "10.0.0.1:50052", total_bytes, total_bytes, true};
}

// Layers 0 to 19 on one device and the rest on another.
void HearOfTwo(LayerPlaces* places) {
  for (int layer = 0; layer < 37; ++layer) {
    places->Hear("load_tensors: layer " + std::to_string(layer) + " assigned to device Vulkan" +
                 (layer < 20 ? "0" : "1") + ", is_swa = 0");
  }
}

TEST(ModelDevices, AreNamedWithTheLayersAndTheMemoryTaken) {
  EXPECT_EQ(DevicesText({Gpu("Vulkan0", 15)}, {Gpu("Vulkan0", 6)}, -1, 36, {}),
            "37 of 37 layers on Vulkan0 (Made GPU): 9.0 of 16.0 GiB taken, 6.0 free");
  EXPECT_EQ(DevicesText({Gpu("Vulkan0", 15)}, {Gpu("Vulkan0", 12)}, 10, 36, {}),
            "10 of 37 layers on Vulkan0 (Made GPU): 3.0 of 16.0 GiB taken, 12.0 free");
}

TEST(ModelDevices, AreAllNamed) {
  EXPECT_EQ(DevicesText({Gpu("Vulkan0", 9), Gpu("Vulkan1", 9)},
                        {Gpu("Vulkan0", 8), Gpu("Vulkan1", 7)}, 99, 36, {}),
            "37 of 37 layers on Vulkan0 (Made GPU): 1.0 of 16.0 GiB taken, 8.0 free, "
            "Vulkan1 (Made GPU): 2.0 of 16.0 GiB taken, 7.0 free");
}

TEST(ModelDevices, ThatAreSeveralAreNamedWithTheLayersOfEach) {
  LayerPlaces places;
  HearOfTwo(&places);
  const std::vector<GpuDevice> gpus = {Gpu("Vulkan0", 9), Gpu("Vulkan1", 9)};
  EXPECT_EQ(DevicesText(gpus, gpus, -1, 36, places),
            "37 of 37 layers on Vulkan0 (Made GPU): 20 layers, 0.0 of 16.0 GiB taken, 9.0 free, "
            "Vulkan1 (Made GPU): 17 layers, 0.0 of 16.0 GiB taken, 9.0 free");
}

TEST(ModelDevices, OfWorkersAreSplitByTheirMemoryInWholeGib) {
  const size_t little_less = 24 * kGib - (kGib >> 4);
  EXPECT_EQ(SplitByMemory({Worker("RPC0", 24 * kGib), Worker("RPC1", little_less)}),
            (std::vector<float>{24, 24}));
  EXPECT_EQ(SplitByMemory({Worker("RPC0", 64 * kGib), Worker("RPC1", kGib >> 4)}),
            (std::vector<float>{64, 1}));
}

TEST(ModelDevices, OfThisMachineAndASingleWorkerAreLibllamasToSplit) {
  EXPECT_TRUE(SplitByMemory({}).empty());
  EXPECT_TRUE(SplitByMemory({Worker("RPC0", kGib)}).empty());
  EXPECT_TRUE(SplitByMemory({Gpu("Vulkan0", 9), Gpu("Vulkan1", 9)}).empty());
  EXPECT_TRUE(SplitByMemory({Gpu("Vulkan0", 9), Worker("RPC0", kGib)}).empty());
}

TEST(ModelDevices, WithoutAGpuNameTheCpu) {
  EXPECT_EQ(DevicesText({}, {}, -1, 36, {}), "no GPU: all 37 layers on the CPU");
  EXPECT_EQ(DevicesText({}, {}, 20, 36, {}),
            "no GPU, so --gpu-layers has no effect: all 37 layers on the CPU");
}

TEST(ModelDevices, ThatAreNotUsedAreNamedWithTheFlag) {
  const std::string text = DevicesText({Gpu("Vulkan0", 9)}, {Gpu("Vulkan0", 9)}, 0, 36, {});
  EXPECT_EQ(text.find("all 37 layers on the CPU"), 0U) << text;
  EXPECT_NE(text.find("Vulkan0 (Made GPU); --gpu-layers"), std::string::npos) << text;
}

TEST(ModelDevices, WithoutAFigureOfTheirMemoryAreNamedWithoutIt) {
  GpuDevice gpu = Gpu("RPC0", 0);
  gpu.total_bytes = 0;
  EXPECT_EQ(DevicesText({gpu}, {gpu}, -1, 1, {}), "2 of 2 layers on RPC0 (Made GPU)");
}

TEST(ModelDevices, AreThoseOfGgmlAndNotItsCpu) {
  InitLlamaBackend(LogSink());
  for (const GpuDevice& gpu : ListGpus()) EXPECT_NE(gpu.name, "CPU");
}

}  // namespace
}  // namespace cairn::model_devices_test
