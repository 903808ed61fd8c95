#include "soak/process_sample.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace cairn::soak {
namespace {

// Returns the number after `name` in the text of /proc/PID/status.
uint64_t NumberOf(const std::string& text, const std::string& name) {
  const size_t at = text.find("\n" + name + ":");
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + name.size() + 2, nullptr, 10);
}

uint64_t Median(std::vector<uint64_t> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

uint64_t MedianOfQuarter(const std::vector<uint64_t>& series, size_t quarter) {
  const auto at = [&](size_t share) {
    return series.begin() + static_cast<std::ptrdiff_t>(series.size() * share / 4);
  };
  return Median(std::vector<uint64_t>(at(quarter), at(quarter + 1)));
}

}  // namespace

std::optional<ProcessSample> SampleProcess(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  std::ifstream file(folder + "/status");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (text.empty()) return std::nullopt;
  ProcessSample sample;
  sample.rss_bytes = NumberOf(text, "VmRSS") << 10;
  sample.own_bytes = NumberOf(text, "RssAnon") << 10;
  sample.threads = NumberOf(text, "Threads");
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder + "/fd", error), end;
       !error && entry != end; entry.increment(error)) {
    ++sample.descriptors;
  }
  if (error || sample.threads == 0) return std::nullopt;
  return sample;
}

uint64_t GrowthBytes(const std::vector<uint64_t>& series) {
  if (series.size() < kSamplesMin) return 0;
  const uint64_t before = MedianOfQuarter(series, 1);
  const uint64_t after = MedianOfQuarter(series, 3);
  return after > before ? after - before : 0;
}

uint64_t GrowthAllowed(const std::vector<uint64_t>& series) {
  if (series.size() < kSamplesMin) return kGrowthBytes;
  const auto share =
      static_cast<uint64_t>(kGrowthShare * static_cast<double>(MedianOfQuarter(series, 1)));
  return std::max(share, kGrowthBytes);
}

std::string CompareHeld(const ProcessSample& begin, const ProcessSample& end) {
  const auto changed = [](const char* what, size_t before, size_t after) {
    return std::to_string(after) + " " + what + " at the end, " + std::to_string(before) +
           " at the beginning";
  };
  if (begin.threads != end.threads) return changed("threads", begin.threads, end.threads);
  if (begin.descriptors != end.descriptors) {
    return changed("descriptors", begin.descriptors, end.descriptors);
  }
  return "";
}

}  // namespace cairn::soak
