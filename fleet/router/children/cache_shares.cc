#include "fleet/router/children/cache_shares.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "api/json.h"
#include "base/process/threads.h"
#include "fleet/router/children/child_connection.h"

namespace cairn {
namespace {

// Limit for a process to evict; while it computes a chunk, it does nothing else.
constexpr int kShareWaitMs = 30'000;

}  // namespace

size_t CacheShare(size_t budget_bytes, size_t running) {
  return budget_bytes / std::max<size_t>(running, 1);
}

bool HasOwnBudget(const ModelEntry& model) {
  return std::any_of(model.arguments.begin(), model.arguments.end(),
                     [](const std::string& one) { return one.starts_with("--cache-ram="); });
}

CacheShares::CacheShares(ModelSet* models, size_t budget_bytes, std::shared_ptr<const ApiKeys> keys,
                         LogSink log)
    : models_(models), budget_bytes_(budget_bytes), keys_(std::move(keys)), log_(std::move(log)) {
  thread_ = std::thread([this] { Run(); });
}

CacheShares::~CacheShares() {
  {
    const MutexLock lock(mutex_);
    over_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void CacheShares::Update() {
  const MutexLock lock(mutex_);
  due_ = true;
  changed_.NotifyAll();
}

void CacheShares::Run() {
  const MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_, [this]() REQUIRES(mutex_) { return due_ || over_; });
    if (over_) return;
    due_ = false;
    const MutexUnlock unlocked(mutex_);
    // Who was not asked is so after the next change.
    static_cast<void>(TryWork([this] { AskAll(); }));
  }
}

void CacheShares::AskAll() {
  const auto models = models_->List();
  const auto running = std::count_if(models.begin(), models.end(), [](const ModelStatus& model) {
    return model.phase != ModelPhase::kStopped && !HasOwnBudget(*model.entry);
  });
  const bool has_limit = budget_bytes_ < SIZE_MAX;
  const size_t share = CacheShare(budget_bytes_, static_cast<size_t>(running));
  std::set<uint64_t> processes;
  for (const auto& lease : models_->UseReady()) {
    const ModelEntry* const model = models_->Find(lease->name());
    const std::optional<size_t> bytes =
        has_limit && !HasOwnBudget(*model) ? std::optional<size_t>(share) : std::nullopt;
    processes.insert(lease->process());
    const auto told = told_.find(lease->process());
    if (told == told_.end() || told->second != bytes) Ask(*lease, model, bytes);
  }
  std::erase_if(told_, [&](const auto& one) { return !processes.contains(one.first); });
}

void CacheShares::Ask(const ModelLease& lease, const ModelEntry* model,
                      std::optional<size_t> bytes) {
  ChildRequest request;
  request.method = "POST";
  request.target = "/cairn/cache/limit";
  request.headers = {{"Content-Type", "application/json"}};
  Json asked = Json::object();
  if (bytes) asked["bytes"] = *bytes;
  const std::string body = ToText(asked);
  request.body = body;
  if (keys_ != nullptr && !keys_->empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + keys_->AnyText());
  }
  auto connection = ChildConnection::Send(lease.port(), request);
  if (!connection) return;  // the process has died, which is seen elsewhere
  std::string answer;
  auto step = (*connection)->ReadHead(kShareWaitMs);
  const bool taken = step == ChildConnection::Step::kMore && (*connection)->head().status == 200;
  while (step == ChildConnection::Step::kMore)
    step = (*connection)->ReadBody(kShareWaitMs, &answer);
  if (taken && step == ChildConnection::Step::kEnd) {
    told_[lease.process()] = bytes;
    const Json body_of_answer = Json::parse(answer, nullptr, /*allow_exceptions=*/false);
    const Json* const memory = FindPointer(body_of_answer, "/memory_bytes");
    if (memory != nullptr && memory->is_number()) models_->SetBytes(model, memory->get<uint64_t>());
  } else if (log_) {
    log_(LogLevel::kWarning, lease.name() + ": did not take its share of --cache-ram" +
                                 (bytes ? ", " + std::to_string(*bytes >> 20) + " MiB" : ""));
  }
}

}  // namespace cairn
