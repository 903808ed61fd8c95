#include "media/child/ready_program.h"

#include <utility>

#include "base/process/try_work.h"

namespace cairn {

ReadyProgram::ReadyProgram(std::vector<std::string> argv, std::chrono::milliseconds pause)
    : argv_(std::move(argv)), pause_(pause), thread_([this] { Run(); }) {}

ReadyProgram::~ReadyProgram() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<std::unique_ptr<SpawnedProgram>> ReadyProgram::Take() {
  std::unique_ptr<SpawnedProgram> program;
  {
    const std::lock_guard lock(mutex_);
    program = std::move(ready_);
    wanted_ = true;
    next_start_ = std::chrono::steady_clock::now() + pause_;
  }
  changed_.notify_all();
  if (program != nullptr && program->IsRunning()) return program;
  return SpawnedProgram::Start(argv_);
}

bool ReadyProgram::has_one() const {
  const std::lock_guard lock(mutex_);
  return ready_ != nullptr;
}

void ReadyProgram::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!wanted_) {
      changed_.wait(lock);
    } else if (std::chrono::steady_clock::now() < next_start_) {
      changed_.wait_until(lock, next_start_);
    } else {
      wanted_ = false;
      lock.unlock();
      StartOne();
      lock.lock();
    }
  }
}

// Whoever takes one meanwhile starts it himself, and sees why if it cannot be started.
void ReadyProgram::StartOne() {
  static_cast<void>(TryWork([this] {
    auto started = SpawnedProgram::Start(argv_);
    if (!started) return;
    const std::lock_guard lock(mutex_);
    ready_ = *std::move(started);
  }));
}

}  // namespace cairn
