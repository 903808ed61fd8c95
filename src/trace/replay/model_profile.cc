#include "trace/replay/model_profile.h"

#include <algorithm>
#include <array>
#include <string>

namespace cairn {
namespace {

// Returns the bytes of a gated delta net layer's recurrent state: a matrix per value head, and the
// last three columns of the convolution over keys, queries and values; f32, as libllama keeps it.
constexpr size_t DeltaNetBytes(size_t key_heads, size_t value_heads, size_t head_size) {
  const size_t matrices = value_heads * head_size * head_size;
  const size_t columns = 3 * (2 * key_heads + value_heads) * head_size;
  return (matrices + columns) * 4;
}

// Returns the bytes of a short convolution's last two columns, in f32.
constexpr size_t ShortConvBytes(size_t hidden_size) {
  return 2 * hidden_size * 4;
}

// Returns the bytes of one token's keys and values in one layer, in f16.
constexpr size_t KvBytes(size_t kv_heads, size_t head_size) {
  return size_t{2} * kv_heads * head_size * 2;
}

constexpr size_t kF32 = 4;
// PCIe 4.0 x16 gives about 25 GB/s; copies that are not in whole pages get about half of it.
constexpr double kMoveBytesPerS = 12e9;

constexpr std::array<ModelProfile, 6> kProfiles = {{
    {"qwen3.5-4b", "config.json: 24 delta-net and 8 attention layers, 16+32 heads of 128, 4 of 256",
     MemoryClass::kHybrid, 24 * DeltaNetBytes(16, 32, 128), 8 * KvBytes(4, 256), 0, 248320 * kF32,
     6000, kMoveBytesPerS},
    {"qwen3.5-35b-a3b",
     "config.json: 30 delta-net and 10 attention layers, 16+32 heads of 128, 2 of 256",
     MemoryClass::kHybrid, 30 * DeltaNetBytes(16, 32, 128), 10 * KvBytes(2, 256), 0, 248320 * kF32,
     3000, kMoveBytesPerS},
    {"qwen3.8-27b",
     "config.json: 48 delta-net and 16 attention layers, 16+48 heads of 128, 4 of 256; the "
     "snapshot is the 149.6 MiB that libllama takes",
     MemoryClass::kHybrid, 48 * DeltaNetBytes(16, 48, 128), 16 * KvBytes(4, 256), 0, 248320 * kF32,
     1000, kMoveBytesPerS},
    {"gemma-3-27b", "config.json: 52 layers with a window of 1,024 and 10 without, 16 heads of 128",
     MemoryClass::kSlidingWindow, 1024 * 52 * KvBytes(16, 128), 10 * KvBytes(16, 128), 1024,
     262208 * kF32, 1000, kMoveBytesPerS},
    {"gpt-oss-120b", "config.json: 18 layers with a window of 128 and 18 without, 8 heads of 64",
     MemoryClass::kSlidingWindow, 128 * 18 * KvBytes(8, 64), 18 * KvBytes(8, 64), 128,
     201088 * kF32, 1500, kMoveBytesPerS},
    {"lfm2-1.2b", "config.json: 10 convolution layers of 2,048 and 6 attention layers, 8 of 64",
     MemoryClass::kHybrid, 10 * ShortConvBytes(2048), 6 * KvBytes(8, 64), 0, 65536 * kF32, 10000,
     kMoveBytesPerS},
}};

}  // namespace

std::span<const ModelProfile> ModelProfiles() {
  return kProfiles;
}

Result<ModelProfile> FindModelProfile(std::string_view name) {
  const auto* const found =
      std::find_if(kProfiles.begin(), kProfiles.end(),
                   [&](const ModelProfile& profile) { return profile.name == name; });
  if (found != kProfiles.end()) return *found;
  std::string names;
  for (const ModelProfile& profile : kProfiles) {
    names.append(names.empty() ? "" : ", ").append(profile.name);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no model profile named '" + std::string(name) + "'; there are: " + names);
}

}  // namespace cairn
