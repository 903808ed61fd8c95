#include "engine/verified_architectures.h"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

// A purely recurrent architecture (mamba2) has no attention KV, so it is not asked about.
constexpr std::array<std::string_view, 5> kSegments = {"falcon-h1", "gemma3", "lfm2", "llama",
                                                       "qwen35"};

}  // namespace

std::span<const std::string_view> SegmentArchitectures() {
  return kSegments;
}

bool SegmentsVerified(std::string_view architecture) {
  return std::find(kSegments.begin(), kSegments.end(), architecture) != kSegments.end();
}

}  // namespace cairn
