// `cairn serve` with all layers on a Vulkan device, on models of several memory classes. `make
// test-vulkan` runs these tests, on Mesa's software driver where there is no GPU.
//
// Without a Vulkan device they are skipped, unless CAIRN_NEEDS_VULKAN is set in the environment.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/model/model_devices.h"
#include "served.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;
using test::Join;
using test::NextTurn;

constexpr int kAnswerTokens = 16;
constexpr const char* kNoCooperativeMatrices = "GGML_VK_DISABLE_COOPMAT";
// Short, because a software driver on a busy machine prefills some thirty tokens a second.
constexpr size_t kHeaderBytes = 400;

Json First() {
  return FirstTurn(kAnswerTokens, kHeaderBytes);
}

bool HasVulkanDevice() {
  InitLlamaBackend({});
  const std::vector<GpuDevice> gpus = ListGpus();
  return std::any_of(gpus.begin(), gpus.end(),
                     [](const GpuDevice& gpu) { return gpu.name.starts_with("Vulkan"); });
}

// Returns the path of a model of the default size.
std::string WriteModelOf(const std::string& architecture, uint32_t window_tokens = 0) {
  std::string file = testing::TempDir() + "vulkan_" + architecture + ".gguf";
  ModelShape shape;
  shape.architecture = architecture;
  shape.window_tokens = window_tokens;
  const auto recipe = MakeRecipe(shape);
  EXPECT_TRUE(recipe.has_value());
  EXPECT_TRUE(WriteModel(*recipe, file, {}).has_value());
  return file;
}

class VulkanTest : public test::ServedTest {
 protected:
  void SetUp() override {
    if (HasVulkanDevice()) return;
    ASSERT_EQ(std::getenv("CAIRN_NEEDS_VULKAN"), nullptr)
        << "CAIRN_NEEDS_VULKAN is set, but ggml finds no Vulkan device";
    GTEST_SKIP() << "there is no Vulkan device; make test-vulkan brings a software one";
  }

  // All layers on the device unless `flags` say otherwise. The grid is not given, so that it is
  // measured there. That and the compilation of the kernels take a while.
  void ServeOn(const std::string& model, const Flags& flags,
               const std::vector<std::pair<std::string, std::string>>& environment = {}) {
    Flags command = {CAIRN_PROGRAM, "serve", "-m", model, "--port", "0"};
    command = Join(command, {"-c", "4096", "-np", "1", "--cache-dir", folder_});
    if (std::find(flags.begin(), flags.end(), "-ub") == flags.end()) {
      command = Join(command, {"-ub", "128"});
    }
    if (std::find(flags.begin(), flags.end(), "-ngl") == flags.end()) {
      command = Join(command, {"-ngl", "99"});
    }
    ServeAs(
        {.argv = Join(command, flags), .environment = environment, .start_timeout_ms = 600'000});
  }
  // With `--reuse exact`, and without the variable that make test-vulkan sets.
  void ServeWithCooperativeMatrices(const std::string& architecture, const Flags& flags = {}) {
    const bool is_set = std::getenv(kNoCooperativeMatrices) != nullptr;
    unsetenv(kNoCooperativeMatrices);
    ServeOn(WriteModelOf(architecture), Join({"--reuse", "exact"}, flags));
    if (is_set) setenv(kNoCooperativeMatrices, "1", 1);
  }
  int GridTokens() const {
    return Json::parse(Get("/props").body)["cairn"]["grid_tokens"].get<int>();
  }
  // Returns the texts of the facts that the folders of the cache belong to.
  std::string Identities() const {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.path().filename() == "identity.txt") all += ReadFile(entry.path()).value_or("");
    }
    return all;
  }
  // Returns the answer to a prompt that begins like an earlier one, with the header at least.
  Json AskAgain(const Json& body) {
    Json reply = Ask(body);
    EXPECT_GT(reply["timings"]["cache_n"], kHeaderBytes / 2) << server_->LastLines();
    return reply;
  }

  const std::string folder_ = files_ + "/cache";
};

struct Tested {
  const char* architecture;
  uint32_t window_tokens = 0;
};

class VulkanExactness : public VulkanTest, public testing::WithParamInterface<Tested> {};

Json WithBits(Json body) {
  body["logprobs"] = true;
  body["top_logprobs"] = 3;
  return body;
}

TEST_P(VulkanExactness, EditsForksAndARestartChangeNoBit) {
  const std::string model = WriteModelOf(GetParam().architecture, GetParam().window_tokens);
  const Flags exact = {"--reuse", "exact"};
  ServeOn(model, exact);
  EXPECT_NE(Log().find(" layers on Vulkan"), std::string::npos) << Log();
  ASSERT_GT(GridTokens(), 0) << "`exact` would reuse nothing";

  const Json first = WithBits(First());
  std::vector<std::pair<Json, Json>> asked = {{first, Ask(first)}};
  const auto go_on = [&](size_t from, const std::string& question) {
    const Json body = NextTurn(asked[from].first, asked[from].second, question);
    asked.emplace_back(body, AskAgain(body));
    return asked.size() - 1;
  };
  const size_t second = go_on(0, "second question");
  const size_t edited = go_on(0, "another second question");
  const size_t third = go_on(second, "third question");
  const size_t fork = go_on(edited, "third question of the fork");
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeOn(model, exact);
  go_on(third, "fourth question");
  go_on(fork, "fourth question of the fork");
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();

  // The folder has the measured grid, and nothing else of it is used.
  ServeOn(model, Join(exact, {"--placement", "none"}));
  for (auto [body, reply] : asked) {
    body["cache_prompt"] = false;
    const Json cold = Ask(body);
    EXPECT_EQ(cold["timings"]["cache_n"], 0);
    EXPECT_EQ(cold["choices"], reply["choices"]) << body["messages"].back();
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachMemory, VulkanExactness,
                         testing::Values(Tested{"llama"}, Tested{"gemma3", 96}, Tested{"mamba2"},
                                         Tested{"qwen35"}, Tested{"falcon-h1"}),
                         [](const auto& tested) {
                           std::string name(tested.param.architecture);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(VulkanTest, TheStatesOfTheDeviceAreNotThoseOfTheCpu) {
  const std::string model = WriteModelOf("qwen35");
  ServeOn(model, {"--grid", "64"});
  const Json reply = Ask(First());
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  EXPECT_NE(Identities().find("\nproven_chunk="), std::string::npos) << Identities();
  ServeOn(model, {"--grid", "64", "-ngl", "0"});
  EXPECT_NE(Log().find("layers on the CPU, though there is Vulkan"), std::string::npos) << Log();
  const Json body = NextTurn(First(), reply);
  EXPECT_EQ(Ask(body)["timings"]["cache_n"], 0);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  ServeOn(model, {"--grid", "64"});
  (void)AskAgain(body);
}

// The cooperative matrices of Mesa's software driver give other bits in each run. Those of a GPU
// need not.
TEST_F(VulkanTest, ADeviceThatNeverGivesTheSameBitsIsNoticedAndExactReusesNothing) {
  ServeWithCooperativeMatrices("falcon-h1");
  if (GridTokens() > 0) GTEST_SKIP() << "the device gives the same bits";
  EXPECT_NE(Log().find("this device does not compute the same bits again"), std::string::npos)
      << Log();
  EXPECT_NE(Log().find("--reuse exact reuses nothing"), std::string::npos) << Log();
  const Json reply = Ask(First());
  EXPECT_EQ(Ask(NextTurn(First(), reply))["timings"]["cache_n"], 0);
}

TEST_F(VulkanTest, WhereThereIsNoGridExactReusesNothingAndSaysSo) {
  // With chunks of up to 128 tokens a grid of 128 is no test: each cut is one.
  ServeWithCooperativeMatrices("qwen35", {"-ub", "512"});
  if (GridTokens() > 0) GTEST_SKIP() << "qwen35 has a grid on this device";
  EXPECT_NE(Log().find("--reuse exact reuses nothing"), std::string::npos) << Log();
  const Json reply = Ask(First());
  EXPECT_EQ(Ask(NextTurn(First(), reply))["timings"]["cache_n"], 0);
}

TEST_F(VulkanTest, WithoutFlagsAModelThatFitsIsOnTheDevice) {
  ServeOn(WriteModelOf("llama"), {"--grid", "64", "-ngl", "auto"});
  EXPECT_NE(Log().find("5 of 5 layers on Vulkan"), std::string::npos) << Log();
  EXPECT_EQ(Log().find("chosen to fit"), std::string::npos) << Log();
  EXPECT_EQ(Ask(First())["usage"]["completion_tokens"], kAnswerTokens);
}

TEST_F(VulkanTest, OneThatDoesNotFitIsMadeToFitUnlessFitIsOff) {
  const std::string model = WriteModelOf("llama");
  // No device has as much memory as this leaves free.
  const Flags full = {"--grid", "64", "-ngl", "auto", "--fit-target", "100000000"};
  ServeOn(model, full);
  EXPECT_NE(Log().find("chosen to fit: --gpu-layers 0 of 5 "), std::string::npos) << Log();
  EXPECT_NE(Log().find("layers on the CPU, though there is Vulkan"), std::string::npos) << Log();
  EXPECT_EQ(Ask(First())["usage"]["completion_tokens"], kAnswerTokens);
  ASSERT_EQ(server_->Stop(), 0) << server_->LastLines();
  const size_t before = Log().size();
  ServeOn(model, Join(full, {"--fit", "off"}));
  EXPECT_EQ(Log().find("chosen to fit", before), std::string::npos) << Log();
  EXPECT_NE(Log().find("5 of 5 layers on Vulkan", before), std::string::npos) << Log();
}

// The backend is there, and its driver is not.
TEST_F(VulkanTest, WithoutADeviceTheServerSaysSoAndComputesOnTheCpu) {
  ServeOn(WriteModelOf("qwen35"), {"--grid", "64"}, {{"VK_DRIVER_FILES", "/nonexistent"}});
  EXPECT_NE(Log().find("no GPU, so --gpu-layers has no effect: all 5 layers on the CPU"),
            std::string::npos)
      << Log();
  EXPECT_EQ(Ask(First())["usage"]["completion_tokens"], kAnswerTokens);
}

}  // namespace
}  // namespace cairn
