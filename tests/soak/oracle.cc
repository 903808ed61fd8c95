#include "soak/oracle.h"

#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

namespace cairn::soak {
namespace {

constexpr size_t kKnownMax = 4096;

Question WithoutReuse(Question question) {
  const bool can = question.api != Api::kMessages && question.api != Api::kResponses;
  if (can) question.body["cache_prompt"] = false;
  return question;
}

}  // namespace

Result<std::unique_ptr<Oracle>> Oracle::Start(const std::string& program, const std::string& model,
                                              const RoundPlan& plan, const std::string& log_path) {
  ServerProcessOptions options;
  options.argv = {program, "serve", "-m", model, "--port", "0", "-np", "1"};
  options.argv.insert(options.argv.end(), plan.both.begin(), plan.both.end());
  const Flags own = {"-c",           std::to_string(plan.context_tokens),
                     "--cache-ram",  "0",
                     "--cache-disk", "0",
                     "--placement",  "none",
                     "--no-warm"};
  options.argv.insert(options.argv.end(), own.begin(), own.end());
  options.log_path = log_path;
  auto server = ServerProcess::Start(std::move(options));
  if (!server) return tl::unexpected<Error>(server.error());
  return std::unique_ptr<Oracle>(new Oracle(std::move(*server)));
}

Reply Oracle::AskLocked(const Question& question) {
  // A slot may be busy for a moment after its answer has ended.
  for (int tries = 0; tries < 1000; ++tries) {
    if (Send(server_->url(), "", "POST", "/slots/0?action=erase", "", nullptr) != 503) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Ask(server_->url(), WithoutReuse(question), {});
}

Reply Oracle::Right(const Question& question) {
  const std::string name = PathOf(question.api) + question.body.dump();
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  if (known_.size() >= kKnownMax) known_.clear();
  return known_.emplace(name, AskLocked(question)).first->second;
}

void Oracle::Kill() {
  server_->Signal(SIGKILL);
}

Reply Oracle::AskAgain(const Question& question) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return AskLocked(question);
}

}  // namespace cairn::soak
