// The libraries and settings that determine the compute kernels.

#include "engine/llama/backend/computing_libraries.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <string>

namespace cairn {
namespace {

TEST(ComputingLibraries, AreThoseThatMultiplyMatrices) {
  for (const char* path : {"/usr/lib/libllama.so.0.7.0", "libmtmd.so.0",
                           "/usr/lib/ggml/libggml-cuda.so", "/opt/cuda/lib64/libcublasLt.so.12",
                           "libopenblas.so.0", "libblas.so.3", "/opt/rocm/lib/librocblas.so.4",
                           "/usr/lib/libvulkan_radeon.so", "libnvidia-glcore.so.570.86"}) {
    EXPECT_TRUE(IsComputingLibrary(path)) << path;
  }
  for (const char* path : {"", "/usr/lib/libssl.so.3", "libstdc++.so.6", "libm.so.6",
                           "/usr/lib/libllama/libz.so.1", "libvulkan.so.1"}) {
    EXPECT_FALSE(IsComputingLibrary(path)) << path;
  }
}

TEST(ComputingLibraries, AreNamedWithTheirBuildIds) {
  const std::string libraries = ComputingLibraries();
  const std::regex one("libggml-base [0-9a-f]{16,}");
  EXPECT_TRUE(std::regex_search(libraries, one)) << libraries;
  EXPECT_EQ(libraries, ComputingLibraries());
  EXPECT_EQ(libraries.find("libstdc++"), std::string::npos);
}

TEST(ComputingSettings, AreTheVariablesThatChooseKernels) {
  const std::string before = ComputingSettings();
  ASSERT_EQ(setenv("GGML_CUDA_FORCE_CUBLAS", "1", 1), 0);
  ASSERT_EQ(setenv("NO_KERNEL", "1", 1), 0);
  const std::string after = ComputingSettings();
  EXPECT_NE(after.find("GGML_CUDA_FORCE_CUBLAS=1"), std::string::npos);
  EXPECT_EQ(after.find("NO_KERNEL"), std::string::npos);
  ASSERT_EQ(unsetenv("GGML_CUDA_FORCE_CUBLAS"), 0);
  ASSERT_EQ(unsetenv("NO_KERNEL"), 0);
  EXPECT_EQ(ComputingSettings(), before);
}

}  // namespace
}  // namespace cairn
