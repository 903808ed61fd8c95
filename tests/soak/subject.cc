#include "soak/subject.h"

#include <csignal>
#include <utility>

namespace cairn::soak {

Status Subject::Start(const Flags& flags) {
  ServerProcessOptions options;
  options.argv = {options_.program,
                  "serve",
                  "-m",
                  options_.model,
                  "--port",
                  "0",
                  "--cache-dir",
                  options_.cache_folder,
                  "--slot-save-path",
                  options_.slot_folder,
                  "--api-key-file",
                  options_.key_file};
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  options.log_path = options_.log_path;
  options.stop_grace_ms = 60'000;
  auto started = ServerProcess::Start(std::move(options));
  if (!started) return tl::unexpected<Error>(started.error());
  auto life = std::make_shared<Life>();
  life->number = ++lives_;
  life->url = (*started)->url();
  const std::lock_guard<std::mutex> lock(mutex_);
  process_ = std::move(*started);
  life_ = std::move(life);
  return {};
}

std::shared_ptr<const Life> Subject::Current() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return life_;
}

int Subject::End(int signal) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (life_) life_->ending.store(true);
    life_ = nullptr;
  }
  if (signal == SIGKILL) process_->Signal(SIGKILL);
  return process_->Stop();
}

void Subject::Kill() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (life_) life_->ending.store(true);
  if (process_) process_->Signal(SIGKILL);
}

std::optional<int> Subject::Died() {
  return process_->exit_code();
}

}  // namespace cairn::soak
