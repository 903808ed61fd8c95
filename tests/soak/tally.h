// Tally: counts the events of a soak, and collects its errors.
//
// Thread-safe.

#ifndef CAIRN_TESTS_SOAK_TALLY_H_
#define CAIRN_TESTS_SOAK_TALLY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace cairn::soak {

using Counts = std::map<std::string, uint64_t>;

struct Fault {
  std::string what;    // one line
  std::string detail;  // the evidence
};

class Tally {
 public:
  void Count(const std::string& what, uint64_t by = 1);
  void Fail(const std::string& what, const std::string& detail = "");

  Counts counts() const;
  uint64_t Of(const std::string& what) const;
  std::vector<Fault> faults() const;
  size_t fault_count() const;

 private:
  mutable std::mutex mutex_;
  Counts counts_;
  std::vector<Fault> faults_;
};

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_TALLY_H_
