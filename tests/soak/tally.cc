#include "soak/tally.h"

namespace cairn::soak {

void Tally::Count(const std::string& what, uint64_t by) {
  const std::lock_guard<std::mutex> lock(mutex_);
  counts_[what] += by;
}

void Tally::Fail(const std::string& what, const std::string& detail) {
  const std::lock_guard<std::mutex> lock(mutex_);
  faults_.push_back({what, detail});
}

Counts Tally::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

uint64_t Tally::Of(const std::string& what) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = counts_.find(what);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<Fault> Tally::faults() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return faults_;
}

size_t Tally::fault_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return faults_.size();
}

}  // namespace cairn::soak
