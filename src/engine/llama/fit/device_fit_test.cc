#include "engine/llama/fit/device_fit.h"

#include <gtest/gtest.h>

namespace cairn::device_fit_test {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

GpuDevice Gpu(uint64_t total_mib, uint64_t used_mib = 0) {
  return {"Vulkan0", "Made GPU", (total_mib - used_mib) * kMib, total_mib * kMib};
}

// Ten layers of 100 MiB, and 4 KiB of KV a token each: 40 MiB in 10,240 tokens.
ModelLayout Dense() {
  ModelLayout layout;
  LayerLayout layer;
  layer.weight_bytes = 100 * kMib;
  layer.k_elements = layer.v_elements = 1024;
  layout.layers.assign(10, layer);
  layout.output_bytes = 50 * kMib;
  layout.trained_tokens = 102'400;
  return layout;
}

ModelLayout Mixture() {
  ModelLayout layout = Dense();
  for (LayerLayout& layer : layout.layers) layer.expert_bytes = 80 * kMib;
  return layout;
}

LlamaOptions Context(size_t tokens) {
  LlamaOptions options;
  options.context_tokens = tokens;
  options.ubatch_tokens = 0;  // no compute buffers: the figures are round
  options.fit_target_mib = {0};
  return options;
}

TEST(DeviceFit, TakesEverythingWhereThereIsRoom) {
  const LlamaOptions options = Context(10'240);
  const FitChoice choice = FitToDevices(Dense(), options, {Gpu(2048)});
  EXPECT_TRUE(choice.fits);
  EXPECT_EQ(choice.needed_bytes, (50 + 10 * (100 + 40)) * kMib);
  EXPECT_EQ(choice.gpu_layers, kAutoGpuLayers) << "so that cached states stay those of all layers";
  EXPECT_EQ(FitText(Dense(), options, choice), "");
}

TEST(DeviceFit, ShortensAContextThatNobodyGave) {
  const LlamaOptions options = Context(0);
  const FitChoice choice = FitToDevices(Dense(), options, {Gpu(2048)});
  EXPECT_EQ(choice.gpu_layers, kAutoGpuLayers);
  EXPECT_LE(choice.needed_bytes, choice.room_bytes);
  FitChoice longer = choice;
  longer.context_tokens += 1024;
  EXPECT_GT(NeededBytes(Dense(), options, longer), choice.room_bytes);
  EXPECT_EQ(FitText(Dense(), options, choice),
            "chosen to fit: --ctx-size 24576 (about 2.0 GiB of GPU memory, and 2.0 GiB may be "
            "used); these flags choose by hand, --fit off loads all");
}

TEST(DeviceFit, NeverShortensTheContextBelowFitCtxOrWhereItWasGiven) {
  LlamaOptions options = Context(0);
  options.fit_context_tokens = 51'200;
  EXPECT_EQ(FitToDevices(Dense(), options, {Gpu(1024)}).context_tokens, 51'200u);
  EXPECT_EQ(FitToDevices(Dense(), Context(10'240), {Gpu(512)}).context_tokens, 10'240u);
}

TEST(DeviceFit, MovesExpertsBeforeLayers) {
  const LlamaOptions options = Context(10'240);
  const FitChoice choice = FitToDevices(Mixture(), options, {Gpu(1024)});
  // 1,450 MiB less 80 for each layer whose experts are on the CPU.
  EXPECT_EQ(choice.cpu_moe_layers, 6);
  EXPECT_EQ(choice.gpu_layers, kAutoGpuLayers);
  EXPECT_NE(FitText(Mixture(), options, choice).find("chosen to fit: --n-cpu-moe 6 (about"),
            std::string::npos);
}

TEST(DeviceFit, MovesNoExpertsWhereTheirNumberWasGiven) {
  LlamaOptions options = Context(10'240);
  options.auto_cpu_moe = false;
  options.cpu_moe_layers = 2;
  const FitChoice choice = FitToDevices(Mixture(), options, {Gpu(1024)});
  EXPECT_EQ(choice.cpu_moe_layers, 2);
  EXPECT_LT(choice.gpu_layers, 11);
}

TEST(DeviceFit, KeepsTheLastLayersAndTheOutputThatFit) {
  const LlamaOptions options = Context(10'240);
  const FitChoice choice = FitToDevices(Dense(), options, {Gpu(768)});
  // The output and five layers take 750 MiB.
  EXPECT_EQ(choice.gpu_layers, 6);
  EXPECT_EQ(choice.needed_bytes, 750 * kMib);
  EXPECT_NE(FitText(Dense(), options, choice).find("--gpu-layers 6 of 11 (about"),
            std::string::npos);
}

TEST(DeviceFit, LeavesAllLayersOnTheCpuWhereNotEvenTheOutputFits) {
  EXPECT_EQ(FitToDevices(Dense(), Context(10'240), {Gpu(32)}).gpu_layers, 0);
}

TEST(DeviceFit, ChangesNoNumberOfLayersThatWasGiven) {
  LlamaOptions options = Context(10'240);
  for (const int32_t given : {8, kAllGpuLayers}) {
    options.gpu_layers = given;
    const FitChoice choice = FitToDevices(Dense(), options, {Gpu(512)});
    EXPECT_EQ(choice.gpu_layers, given);
    EXPECT_FALSE(choice.fits);
    EXPECT_NE(FitText(Dense(), options, choice).find("it may not load; fewer --gpu-layers"),
              std::string::npos);
  }
}

TEST(DeviceFit, CountsWorkersAsGpusAndSaysSo) {
  LlamaOptions options = Context(10'240);
  options.rpc_workers = {"10.0.0.1:50052", "10.0.0.2:50052"};
  options.tensor_split = {1, 3};  // as SplitByMemory would for memories of 256 and 768 MiB
  const std::vector<GpuDevice> workers = {Gpu(256), Gpu(768)};
  EXPECT_EQ(RoomBytes(Dense(), options, workers), 1024 * kMib);
  const FitChoice choice = FitToDevices(Dense(), options, workers);
  EXPECT_EQ(choice.gpu_layers, 7);
  EXPECT_EQ(FitText(Dense(), options, choice),
            "chosen to fit: --gpu-layers 7 of 11 (about 0.9 GiB of GPU and worker memory, and 1.0 "
            "GiB may be used); these flags choose by hand, --fit off loads all");
}

TEST(DeviceFit, LeavesTheTargetFreeOnEachDevice) {
  LlamaOptions options = Context(10'240);
  options.fit_target_mib = {256, 512};
  const ModelLayout layout = Dense();
  EXPECT_EQ(RoomBytes(layout, options, {Gpu(2048)}), (2048 - 256) * kMib);
  // A layer of 100 MiB is never divided between two devices.
  EXPECT_EQ(RoomBytes(layout, options, {Gpu(2048), Gpu(1024), Gpu(1024)}),
            (2048 - 256 + 2 * (1024 - 512) - 2 * 100) * kMib);
  EXPECT_EQ(RoomBytes(layout, options, {Gpu(128)}), 0u);
}

TEST(DeviceFit, RoundsWhatOthersUseSoThatTheNextStartChoosesTheSame) {
  const LlamaOptions options = Context(10'240);
  EXPECT_EQ(RoomBytes(Dense(), options, {Gpu(2048, 300)}), (2048 - 512) * kMib);
  EXPECT_EQ(RoomBytes(Dense(), options, {Gpu(2048, 500)}), (2048 - 512) * kMib);
}

TEST(DeviceFit, CountsOnlyTheMainDeviceWithoutASplit) {
  LlamaOptions options = Context(10'240);
  options.split_mode = "none";
  options.main_gpu = 1;
  EXPECT_EQ(RoomBytes(Dense(), options, {Gpu(2048), Gpu(1024)}), 1024 * kMib);
}

TEST(DeviceFit, FixedSharesEndWhereTheFirstDeviceIsFull) {
  LlamaOptions options = Context(10'240);
  options.tensor_split = {3, 1};
  EXPECT_EQ(RoomBytes(Dense(), options, {Gpu(1536), Gpu(1024)}), 2048 * kMib);
}

TEST(DeviceFit, CountsAWindowsCellsAndWhatTheTypesOfTheCacheTake) {
  ModelLayout layout = Dense();
  layout.window_tokens = 1024;
  for (LayerLayout& layer : layout.layers) layer.windowed = true;
  LlamaOptions options = Context(10'240);
  options.slots = 2;
  FitChoice choice;
  choice.context_tokens = 10'240;
  EXPECT_EQ(NeededBytes(layout, options, choice), (50 + 10 * (100 + 8)) * kMib);
  options.swa_full = true;
  EXPECT_EQ(NeededBytes(layout, options, choice), (50 + 10 * (100 + 40)) * kMib);
  options.cache_type_k = options.cache_type_v = "f32";
  EXPECT_EQ(NeededBytes(layout, options, choice), (50 + 10 * (100 + 80)) * kMib);
  options.kv_offload = false;
  EXPECT_EQ(NeededBytes(layout, options, choice), (50 + 10 * 100) * kMib);
}

TEST(DeviceFit, DoesNothingWithoutAGpuOrWhereItIsOff) {
  LlamaOptions options = Context(0);
  options.model_path = "/nonexistent";
  EXPECT_EQ(ApplyFit({}, &options), "");
  EXPECT_EQ(ApplyFit({Gpu(1)}, &options), "") << "the load says what is wrong with the file";
  options.fit = false;
  EXPECT_EQ(ApplyFit({Gpu(1)}, &options), "");
  EXPECT_EQ(options.gpu_layers, kAutoGpuLayers);
}

}  // namespace
}  // namespace cairn::device_fit_test
