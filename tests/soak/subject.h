// Subject: the server under test, one process after the other on one folder.

#ifndef CAIRN_TESTS_SOAK_SUBJECT_H_
#define CAIRN_TESTS_SOAK_SUBJECT_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "lab/client/server_process.h"
#include "soak/plan.h"
#include "soak/process_sample.h"

namespace cairn::soak {

// One process of the server, as clients see it.
struct Life {
  size_t number = 0;
  std::string url;
  // The process is being ended, so requests may fail. Set before any signal is sent.
  std::atomic<bool> ending{false};
};

struct SubjectOptions {
  std::string program;
  std::string model;
  std::string cache_folder;
  std::string slot_folder;
  std::string key_file;
  std::string log_path;
};

// One thread, except Current() and Kill().
class Subject {
 public:
  explicit Subject(SubjectOptions options) : options_(std::move(options)) {}

  // REQUIRES: no process runs.
  Status Start(const Flags& flags);
  // Returns the process that clients use; nullptr: none runs. Any thread.
  std::shared_ptr<const Life> Current() const;

  // SIGTERM: returns the exit code, 137 if it did not end in time. SIGKILL: returns 137.
  int End(int signal);
  void Signal(int signal) { process_->Signal(signal); }
  // Sends SIGKILL without waiting for the end or for pending answers. Any thread.
  void Kill();
  // Returns the exit code if the process ended on its own.
  std::optional<int> Died();
  std::optional<ProcessSample> Sample() const { return SampleProcess(process_->pid()); }
  std::string LastLines() const { return process_->LastLines(60); }

 private:
  const SubjectOptions options_;
  mutable std::mutex mutex_;
  std::unique_ptr<ServerProcess> process_;  // changed under mutex_
  std::shared_ptr<Life> life_;              // guarded by mutex_
  size_t lives_ = 0;
};

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_SUBJECT_H_
