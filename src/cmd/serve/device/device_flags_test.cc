#include "cmd/serve/device/device_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "cmd/llama_flags/llama_flag_table.h"

namespace cairn {
namespace {

LlamaOptions Parsed(std::vector<std::string> arguments) {
  CLI::App app;
  LlamaOptions options;
  AddDeviceFlags(&app, &options);
  arguments = SpellOutShortFlags(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return options;
}

std::string ErrorOf(std::vector<std::string> arguments) {
  try {
    Parsed(std::move(arguments));
  } catch (const CLI::Error& error) {
    return error.what();
  }
  return "";
}

TEST(DeviceFlags, TakeAutoAllOrANumberOfLayers) {
  EXPECT_EQ(Parsed({}).gpu_layers, kAutoGpuLayers);
  EXPECT_EQ(Parsed({"-ngl", "auto"}).gpu_layers, kAutoGpuLayers);
  EXPECT_EQ(Parsed({"-ngl", "all"}).gpu_layers, kAllGpuLayers);
  EXPECT_EQ(Parsed({"--n-gpu-layers", "17"}).gpu_layers, 17);
  EXPECT_EQ(ErrorOf({"-ngl", "many"}),
            "--gpu-layers: expects auto, all or a number of layers, not 'many'");
  EXPECT_EQ(ErrorOf({"-ngl", "7x"}),
            "--gpu-layers: expects auto, all or a number of layers, not '7x'");
}

TEST(DeviceFlags, TakeAutoOrTheLayersWhoseExpertsStayOnTheCpu) {
  EXPECT_TRUE(Parsed({}).auto_cpu_moe);
  const LlamaOptions given = Parsed({"-ncmoe", "5"});
  EXPECT_EQ(given.cpu_moe_layers, 5);
  EXPECT_FALSE(given.auto_cpu_moe);
  const LlamaOptions all = Parsed({"-cmoe"});
  EXPECT_GE(all.cpu_moe_layers, 1000);
  EXPECT_FALSE(all.auto_cpu_moe);
  const LlamaOptions chosen = Parsed({"-ncmoe", "auto"});
  EXPECT_EQ(chosen.cpu_moe_layers, 0);
  EXPECT_TRUE(chosen.auto_cpu_moe);
  EXPECT_EQ(ErrorOf({"-ncmoe", ""}), "--n-cpu-moe: expects auto or a number of layers, not ''");
}

TEST(DeviceFlags, FitUnlessTheyAreToldNotTo) {
  EXPECT_TRUE(Parsed({}).fit);
  EXPECT_FALSE(Parsed({"-fit", "off"}).fit);
  EXPECT_EQ(ErrorOf({"--fit", "maybe"}), "--fit: expects on or off, not 'maybe'");
  const LlamaOptions options = Parsed({"-fitt", "512,2048", "-fitc", "16384"});
  EXPECT_EQ(options.fit_target_mib, (std::vector<size_t>{512, 2048}));
  EXPECT_EQ(options.fit_context_tokens, 16384u);
}

TEST(DeviceFlags, TakeWorkersWithCommasBetweenThem) {
  EXPECT_TRUE(Parsed({}).rpc_workers.empty());
  const LlamaOptions options = Parsed({"--rpc", "a:50052,b:50053", "--rpc-insecure"});
  EXPECT_EQ(options.rpc_workers, (std::vector<std::string>{"a:50052", "b:50053"}));
  EXPECT_TRUE(options.rpc_beyond_loopback);
}

}  // namespace
}  // namespace cairn
