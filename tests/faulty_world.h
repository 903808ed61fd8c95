// FaultyWorld: injects system faults into a server that a test starts, while it runs. See
// tests/fault_control.h.

#ifndef CAIRN_TESTS_FAULTY_WORLD_H_
#define CAIRN_TESTS_FAULTY_WORLD_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "fault_control.h"

namespace cairn::test {

class FaultyWorld {
 public:
  // Calls on files in `folder` may fail. `control`: the path of a file that is created.
  FaultyWorld(std::string control, const std::string& folder) : path_(std::move(control)) {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT_GE(file, 0) << path_;
    EXPECT_EQ(ftruncate(file, sizeof(FaultControl)), 0);
    void* page = mmap(nullptr, sizeof(FaultControl), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    EXPECT_NE(page, MAP_FAILED);
    control_ = static_cast<FaultControl*>(page);
    EXPECT_LT(folder.size(), control_->folder.size());
    std::memcpy(control_->folder.data(), folder.c_str(), folder.size() + 1);
  }
  ~FaultyWorld() {
    Heal();
    munmap(control_, sizeof(FaultControl));
    unlink(path_.c_str());
  }
  FaultyWorld(const FaultyWorld&) = delete;
  FaultyWorld& operator=(const FaultyWorld&) = delete;

  // Returns variables for the server's environment.
  std::vector<std::pair<std::string, std::string>> environment() const {
    return {{"LD_PRELOAD", CAIRN_FAULT_LIBRARY}, {kFaultControlVariable, path_}};
  }

  // Lets the call fail, after `good` more calls that work.
  void Fail(FaultCall which, int error, int64_t good = 0) {
    FaultControl::Call& call = Of(which);
    call.good = good;
    call.error = error;
  }
  void Hang(FaultCall which) { Of(which).hangs = 1; }
  // Ends all faults; the clock stays moved.
  void Heal() {
    for (FaultControl::Call& call : control_->calls) {
      call.error = 0;
      call.hangs = 0;
    }
    control_->read_bytes_per_s = 0;
  }
  void SlowReads(int64_t bytes_per_s) { control_->read_bytes_per_s = bytes_per_s; }
  void MoveClock(int64_t seconds) { control_->clock_s = seconds; }

  uint64_t failed(FaultCall which) { return Of(which).failed; }
  // Returns the number of calls that have ever hung.
  uint64_t held(FaultCall which) { return Of(which).held; }

 private:
  FaultControl::Call& Of(FaultCall which) { return control_->calls[static_cast<size_t>(which)]; }

  const std::string path_;
  FaultControl* control_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTS_FAULTY_WORLD_H_
