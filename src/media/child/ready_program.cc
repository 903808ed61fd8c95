#include "media/child/ready_program.h"

#include <utility>

#include "base/process/try_work.h"

namespace cairn {

ReadyProgram::ReadyProgram(std::vector<std::string> argv, std::chrono::milliseconds pause)
    : argv_(std::move(argv)), pause_(pause), thread_([this] { Run(); }) {}

ReadyProgram::~ReadyProgram() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  thread_.join();
}

Result<std::unique_ptr<SpawnedProgram>> ReadyProgram::Take() {
  std::unique_ptr<SpawnedProgram> program;
  {
    const MutexLock lock(mutex_);
    program = std::move(ready_);
    wanted_ = true;
    next_start_ = std::chrono::steady_clock::now() + pause_;
  }
  changed_.NotifyAll();
  if (program != nullptr && program->IsRunning()) return program;
  return SpawnedProgram::Start(argv_);
}

bool ReadyProgram::has_one() const {
  const MutexLock lock(mutex_);
  return ready_ != nullptr;
}

void ReadyProgram::Run() {
  const MutexLock lock(mutex_);
  while (!stopping_) {
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_) {
      changed_.Wait(mutex_);
    } else if (now < next_start_) {
      changed_.WaitFor(mutex_, next_start_ - now);
    } else {
      wanted_ = false;
      const MutexUnlock unlocked(mutex_);
      StartOne();
    }
  }
}

// Whoever takes one meanwhile starts it himself, and sees why if it cannot be started.
void ReadyProgram::StartOne() {
  static_cast<void>(TryWork([this] {
    auto started = SpawnedProgram::Start(argv_);
    if (!started) return;
    const MutexLock lock(mutex_);
    ready_ = *std::move(started);
  }));
}

}  // namespace cairn
