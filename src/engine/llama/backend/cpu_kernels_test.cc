// The choice among ggml's libraries for CPUs, on this machine's.

#include "engine/llama/backend/cpu_kernels.h"

#include <ggml-backend.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/llama/backend/computing_libraries.h"
#include "engine/llama/backend/llama_backend.h"

namespace cairn {
namespace {

bool HasAmx() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.find(" amx_int8") != std::string::npos;
}

size_t CpuDevices() {
  size_t count = 0;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    if (ggml_backend_dev_type(ggml_backend_dev_get(i)) == GGML_BACKEND_DEVICE_TYPE_CPU) ++count;
  }
  return count;
}

// The tests' environment may name a folder without the kernels for AMX.
class CpuKernels : public testing::Test {
 protected:
  CpuKernels() {
    unsetenv("CAIRN_BACKENDS_DIR");
    InitLlamaBackend({});
  }
};

TEST_F(CpuKernels, ForAmxAreReplacedAndNoOthers) {
  const auto choice = UseKernelsThatKeepBits();
  ASSERT_TRUE(choice.has_value()) << choice.error().message;
  EXPECT_EQ(CpuDevices(), 1U);
  EXPECT_EQ(choice->left.empty(), !HasAmx()) << choice->left;
  if (choice->left.empty()) return;
  EXPECT_TRUE(choice->used.starts_with("libggml-cpu-")) << choice->used;
  const std::string libraries = ComputingLibraries();
  EXPECT_NE(libraries.find(choice->used), std::string::npos) << libraries;
  EXPECT_EQ(libraries.find(choice->left), std::string::npos) << libraries;
}

TEST_F(CpuKernels, AreReplacedOnce) {
  ASSERT_TRUE(UseKernelsThatKeepBits().has_value());
  const auto again = UseKernelsThatKeepBits();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->left, "");
  EXPECT_EQ(CpuDevices(), 1U);
}

}  // namespace
}  // namespace cairn
