#include "fleet/router/children/model_set.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/process/threads.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr size_t kLinesKept = 20;
constexpr size_t kLineBytesShown = 400;
// So often a process may die before it has failed, if it never answers in between.
constexpr size_t kDeathsMax = 2;
constexpr std::chrono::milliseconds kPollGone(200);
// Limit for the end of a process to be seen after that of its connections.
constexpr double kDoubtMs = 1000;
// Until what failed for want of memory is tried again.
constexpr std::chrono::seconds kTimesAgain(1);
constexpr const char* kStoppingText = "the server is shutting down; try again";

// The pause after failures in a row: 1 s, 2 s, 4 s … a minute.
double PauseMs(size_t failures) {
  constexpr double kFirstMs = 1000;
  constexpr double kMsMax = 60'000;
  return std::min(kMsMax, kFirstMs * std::exp2(static_cast<double>(failures) - 1));
}

std::string LinesText(const std::deque<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n" + line;
  return text;
}

}  // namespace

ModelLease::~ModelLease() {
  set_->EndUse(model_, process_, answered_ && counts_as_use_);
}

void ModelLease::Broken() {
  set_->Doubt(model_, process_);
}

void ModelLease::Refused() {
  was_refused_ = true;
  set_->Lose(model_, process_);
}

ModelSet::ModelSet(ModelSetOptions options) : options_(std::move(options)) {
  CHECK(options_.start != nullptr && options_.clock != nullptr);
  for (const ModelEntry& entry : options_.models) Append(entry);
  times_ = std::thread([this] { RunTimes(); });
}

void ModelSet::Begin() {
  std::vector<const ModelEntry*> entries;
  {
    const MutexLock lock(mutex_);
    for (const Model& model : models_) {
      if (model.entry.load_on_startup) entries.push_back(&model.entry);
    }
  }
  for (const ModelEntry* entry : entries) static_cast<void>(Load(entry));
}

ModelSet::~ModelSet() {
  {
    const MutexLock lock(mutex_);
    for (const Model& model : models_) CHECK(model.in_use == 0 || model.child == nullptr);
    stopping_ = true;
    over_ = true;
    times_changed_.NotifyAll();
  }
  times_.join();
  // Their callbacks take the lock.
  std::vector<std::unique_ptr<Child>> children;
  {
    const MutexLock lock(mutex_);
    for (Model& model : models_) {
      if (model.child != nullptr) children.push_back(std::move(model.child));
    }
    for (auto& child : ended_) children.push_back(std::move(child));
    ended_.clear();
  }
  children.clear();
}

std::vector<const ModelEntry*> ModelSet::Loaded() const {
  const MutexLock lock(mutex_);
  std::vector<const ModelEntry*> loaded;
  for (const Model& model : models_) {
    const bool runs = model.phase == ModelPhase::kReady || model.phase == ModelPhase::kLoading;
    if (model.removed) continue;
    if (runs || model.load_wait.has_value()) loaded.push_back(&model.entry);
  }
  return loaded;
}

size_t ModelSet::IndexOf(const ModelEntry* model) const {
  for (size_t i = 0; i < models_.size(); ++i) {
    if (&models_[i].entry == model) return i;
  }
  CHECK(false);
}

Result<std::shared_ptr<ModelLease>> ModelSet::Use(const ModelEntry* entry,
                                                  const UseOptions& options,
                                                  const std::function<bool()>& gone) {
  const MutexLock lock(mutex_);
  const size_t index = IndexOf(entry);
  Model& model = models_[index];
  const uint64_t refusals = model.refusals;
  const uint64_t number = ++numbers_;
  for (bool waits = false;;) {
    if (waits && model.refusals != refusals) return Fail(ErrorCode::kUnavailable, model.error);
    auto used = TryUse(index, number, options);
    if (!used || *used != nullptr) {
      if (waits) StopWaiting(&model, number);
      return used;
    }
    if (!std::exchange(waits, true)) {
      model.waits.insert(number);
      Replan();
      continue;
    }
    changed_.WaitFor(mutex_, kPollGone);
    bool is_gone = false;
    {
      const MutexUnlock unlocked(mutex_);
      is_gone = gone();
    }
    if (is_gone) {
      StopWaiting(&model, number);
      return Fail(ErrorCode::kCancelled, "the client has gone");
    }
  }
}

void ModelSet::StopWaiting(Model* model, uint64_t number) {
  model->waits.erase(number);
  model->admitted.erase(number);
  Replan();
}

// Returns nullptr if the request has to wait.
Result<std::shared_ptr<ModelLease>> ModelSet::TryUse(size_t index, uint64_t number,
                                                     const UseOptions& options) {
  Model& model = models_[index];
  if (stopping_) return Fail(ErrorCode::kUnavailable, kStoppingText);
  if (model.removed) {
    return Fail(ErrorCode::kNotFound, "the model '" + model.entry.name + "' was removed");
  }
  const bool doubted = options_.clock->NowMs() < model.doubted_until_ms;
  if (model.phase == ModelPhase::kReady && doubted) return nullptr;
  if (model.phase == ModelPhase::kReady && (model.admitted.erase(number) > 0 || !model.drains)) {
    return Lend(index, options.counts_as_use);
  }
  const bool comes = model.phase == ModelPhase::kLoading || model.load_wait.has_value();
  if (!options.autoload && !comes && !model.drains) {
    return Fail(ErrorCode::kInvalidArgument,
                "the model '" + model.entry.name +
                    "' is not loaded, and requests do not load models here; load it with POST "
                    "/models/load");
  }
  if (model.phase == ModelPhase::kStopped && model.failed &&
      options_.clock->NowMs() < model.start_after_ms) {
    return Fail(ErrorCode::kUnavailable, model.error);
  }
  return nullptr;
}

std::shared_ptr<ModelLease> ModelSet::Lend(size_t index, bool counts_as_use) {
  Model& model = models_[index];
  ++model.in_use;
  if (counts_as_use) model.last_used_ms = options_.clock->NowMs();
  return std::make_shared<ModelLease>(this, index, counts_as_use, model.process, model.port,
                                      model.entry.name);
}

std::vector<std::shared_ptr<ModelLease>> ModelSet::UseReady() {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ModelLease>> used;
  for (size_t i = 0; i < models_.size(); ++i) {
    if (models_[i].phase == ModelPhase::kReady) used.push_back(Lend(i, false));
  }
  return used;
}

void ModelSet::EndUse(size_t index, uint64_t process, bool answered) {
  const MutexLock lock(mutex_);
  Model& model = models_[index];
  if (model.process != process) return;  // that process has died
  CHECK(model.in_use > 0);
  --model.in_use;
  if (answered) {
    model.answered = true;
    model.failures = 0;
    model.last_used_ms = options_.clock->NowMs();
  }
  Replan();
}

// A process that is being killed closes its connections before it takes no more of them.
void ModelSet::Doubt(size_t index, uint64_t process) {
  const MutexLock lock(mutex_);
  Model& model = models_[index];
  if (model.process == process) model.doubted_until_ms = options_.clock->NowMs() + kDoubtMs;
}

// Its end is seen a moment later than that of its connections. Until then requests wait, as for a
// process that is being stopped.
void ModelSet::Lose(size_t index, uint64_t process) {
  const MutexLock lock(mutex_);
  Model& model = models_[index];
  if (model.process != process || model.phase != ModelPhase::kReady) return;
  model.phase = ModelPhase::kStopping;
  model.refuses = true;
  model.port = 0;
  model.kill_at_ms = options_.clock->NowMs() + model.entry.stop_timeout_s * 1000;
  model.waits.merge(model.admitted);
  model.admitted.clear();
  Replan();
}

Status ModelSet::Load(const ModelEntry* entry) {
  const MutexLock lock(mutex_);
  Model& model = models_[IndexOf(entry)];
  if (stopping_) return Fail(ErrorCode::kUnavailable, "the server is shutting down");
  if (model.removed) return Fail(ErrorCode::kNotFound, "the model was removed");
  if (model.phase == ModelPhase::kLoading || model.phase == ModelPhase::kReady) {
    return Fail(ErrorCode::kInvalidArgument, "model is already running");
  }
  model.start_after_ms = 0;
  model.failures = 0;
  model.load_wait = ++numbers_;
  Replan();
  return {};
}

Status ModelSet::Unload(const ModelEntry* entry) {
  const MutexLock lock(mutex_);
  const size_t index = IndexOf(entry);
  Model& model = models_[index];
  if (model.phase == ModelPhase::kLoading) {
    StopModel(index, "asked to, while loading");
    Refuse(&model, "the model '" + model.entry.name + "' was unloaded while it was loading");
  } else if (model.phase == ModelPhase::kReady) {
    model.stop_asked = true;
  } else if (model.load_wait.has_value()) {
    Refuse(&model, "the model '" + model.entry.name + "' was unloaded before it was started");
  } else {
    return Fail(ErrorCode::kInvalidArgument, "model is not running");
  }
  Replan();
  return {};
}

// All that wait for the model now fail with `error`.
void ModelSet::Refuse(Model* model, std::string error) {
  ++model->refusals;
  model->error = std::move(error);
  model->waits.clear();
  model->admitted.clear();
  model->load_wait.reset();
  model->restart = false;
  changed_.NotifyAll();
}

void ModelSet::Replan() {
  if (over_) return;
  const double now_ms = options_.clock->NowMs();
  std::vector<PlannedModel> planned(models_.size());
  for (size_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    PlannedModel& one = planned[i];
    one.phase = model.phase;
    one.in_use = model.in_use + model.admitted.size();
    one.oldest_wait = model.load_wait;
    if (!model.waits.empty() && *model.waits.begin() < one.oldest_wait.value_or(UINT64_MAX)) {
      one.oldest_wait = *model.waits.begin();
    }
    one.restart = model.restart && !model.removed;
    one.stop_asked = model.stop_asked || model.removed || stopping_;
    one.pinned = model.entry.pinned && !model.removed;
    one.drains = model.drains;
    one.last_used_ms = model.last_used_ms;
    one.bytes = model.bytes;
    if (model.entry.idle_s_max >= 0) one.idle_ms_max = model.entry.idle_s_max * 1000;
    one.start_after_ms = stopping_ ? INFINITY : model.start_after_ms;
  }
  const ModelsPlan plan = PlanModels(planned, options_.limits, now_ms);
  for (Model& model : models_) model.drains = false;
  for (const size_t i : plan.drain) models_[i].drains = true;
  // While the set is stopping, StopAll() says when.
  if (!stopping_) {
    for (const size_t i : plan.stop) StopModel(i, planned[i].stop_asked ? "asked to" : "idle");
  }
  bool all_started = true;
  for (const size_t i : plan.start) all_started = StartModel(i) && all_started;
  for (Model& model : models_) model.restart = false;  // if it had no place, it waits for a request
  AdmitWaiting();
  for (const size_t i : plan.hopeless) {
    Refuse(&models_[i],
           "the model '" + models_[i].entry.name +
               "' cannot be loaded: pinned models take the places of --models-max or the "
               "memory of --models-memory");
  }
  // A place that was not taken is for others.
  plan_at_ms_ = all_started ? plan.next_ms : std::max(now_ms, 1.0);
  times_changed_.NotifyAll();
  changed_.NotifyAll();
}

// From now on the requests that wait for a ready model count as its users, so that it cannot be
// unloaded for another model before their threads have run.
void ModelSet::AdmitWaiting() {
  for (Model& model : models_) {
    if (model.phase != ModelPhase::kReady || model.drains) continue;
    model.admitted.merge(model.waits);
    model.waits.clear();
  }
}

bool ModelSet::StartModel(size_t index) {
  Model& model = models_[index];
  model.phase = ModelPhase::kLoading;
  model.process = ++numbers_;
  model.port = 0;
  model.in_use = 0;
  model.load_wait.reset();
  model.stop_asked = false;
  model.reload_asked = false;
  model.answered = false;
  model.refuses = false;
  model.doubted_until_ms = 0;
  model.failed = false;
  model.exit_code = 0;
  model.lines.clear();
  model.started_ms = options_.clock->NowMs();
  ++model.starts;
  Say(LogLevel::kInfo, model.entry.name + ": starting");
  ChildCallbacks callbacks;
  const uint64_t process = model.process;
  callbacks.on_line = [this, name = model.entry.name, index, process](std::string_view line) {
    OnLine(name, index, process, line);
  };
  callbacks.on_ready = [this, index, process](int port) { OnReady(index, process, port); };
  callbacks.on_end = [this, index, process](const ChildEnd& end) { OnEnd(index, process, end); };
  const auto running = std::count_if(models_.begin(), models_.end(), [](const Model& one) {
    return one.phase != ModelPhase::kStopped;
  });
  const Status started = TryWork([&] {
    model.child = options_.start(model.entry, static_cast<size_t>(running), std::move(callbacks));
  });
  if (!started) {
    model.phase = ModelPhase::kStopped;
    model.process = 0;
    ++model.failures;
    EndFailed(&model, "could not be started: " + started.error().message);
  }
  if (options_.on_change) options_.on_change();
  return started.has_value();
}

void ModelSet::StopModel(size_t index, const char* why) {
  Model& model = models_[index];
  model.phase = ModelPhase::kStopping;
  model.port = 0;
  model.kill_at_ms = options_.clock->NowMs() + model.entry.stop_timeout_s * 1000;
  ++model.unloads;
  Say(LogLevel::kInfo, model.entry.name + ": unloading (" + why + ")");
  if (model.child != nullptr) model.child->Signal(SIGTERM);
  times_changed_.NotifyAll();
}

void ModelSet::OnLine(const std::string& name, size_t index, uint64_t process,
                      std::string_view line) {
  if (options_.child_log) options_.child_log(name, line);
  const MutexLock lock(mutex_);
  Model& model = models_[index];
  if (model.process != process) return;
  model.lines.emplace_back(line.substr(0, kLineBytesShown));
  if (model.lines.size() > kLinesKept) model.lines.pop_front();
}

void ModelSet::OnReady(size_t index, uint64_t process, int port) {
  const MutexLock lock(mutex_);
  Model& model = models_[index];
  if (model.process != process || model.phase != ModelPhase::kLoading) return;
  model.phase = ModelPhase::kReady;
  model.port = port;
  model.last_used_ms = options_.clock->NowMs();
  model.loading_ms = model.last_used_ms - model.started_ms;
  AdmitWaiting();
  if (std::exchange(model.reload_asked, false)) model.child->Signal(SIGHUP);
  Say(LogLevel::kInfo, model.entry.name + ": loaded after " + Fixed(model.loading_ms / 1000, 1) +
                           " s, on port " + std::to_string(port));
  Replan();
  if (options_.on_change) options_.on_change();
}

void ModelSet::OnEnd(size_t index, uint64_t process, const ChildEnd& end) {
  const MutexLock lock(mutex_);
  Model& model = models_[index];
  if (model.process != process) return;
  const ModelPhase phase = model.refuses ? ModelPhase::kReady : model.phase;
  model.phase = ModelPhase::kStopped;
  model.refuses = false;
  if (model.child != nullptr) ended_.push_back(std::move(model.child));
  model.process = 0;
  model.port = 0;
  model.in_use = 0;
  model.waits.merge(model.admitted);
  model.admitted.clear();
  model.stop_asked = false;
  model.exit_code = end.exit_code;
  if (phase == ModelPhase::kStopping || stopping_ || model.removed) {
    Say(end.exit_code == 0 ? LogLevel::kInfo : LogLevel::kWarning,
        model.entry.name + ": unloaded, " + end.how);
  } else if (phase == ModelPhase::kLoading) {
    ++model.deaths;
    ++model.failures;
    EndFailed(&model, "could not be loaded: " + end.how);
  } else {
    ++model.deaths;
    model.failures = model.answered ? 0 : model.failures + 1;
    if (model.failures > kDeathsMax) {
      EndFailed(&model, "ended " + std::to_string(model.failures) +
                            " times without an answer; the last time " + end.how);
    } else {
      Say(LogLevel::kError, model.entry.name + ": " + end.how + "; starting it again");
      model.restart = true;
    }
  }
  Replan();
  if (options_.on_change) options_.on_change();
}

void ModelSet::EndFailed(Model* model, const std::string& what) {
  const double pause_ms = PauseMs(model->failures);
  model->failed = true;
  model->start_after_ms = options_.clock->NowMs() + pause_ms;
  Say(LogLevel::kError, model->entry.name + " " + what + "; the next try in " +
                            Fixed(pause_ms / 1000, 0) + " s at the earliest");
  Refuse(model, "the model '" + model->entry.name + "' " + what + LinesText(model->lines));
}

std::vector<ModelStatus> ModelSet::List() const {
  const MutexLock lock(mutex_);
  std::vector<ModelStatus> list;
  for (const Model& model : models_) {
    if (model.removed) continue;
    ModelStatus status;
    status.entry = &model.entry;
    status.phase = model.phase;
    status.failed = model.failed;
    status.exit_code = model.exit_code;
    if (model.failed) status.error = model.error;
    status.in_use = model.in_use;
    status.waiting = model.waits.size() + model.admitted.size();
    status.starts = model.starts;
    status.deaths = model.deaths;
    status.unloads = model.unloads;
    status.loading_ms = model.loading_ms;
    status.port = model.port;
    status.bytes = model.bytes;
    list.push_back(std::move(status));
  }
  return list;
}

void ModelSet::SetBytes(const ModelEntry* model, uint64_t bytes) {
  const MutexLock lock(mutex_);
  models_[IndexOf(model)].bytes = bytes;
}

bool ModelSet::Drain(double ms_max) {
  const MutexLock lock(mutex_);
  stopping_ = true;
  for (Model& model : models_) Refuse(&model, kStoppingText);
  return changed_.WaitFor(
      mutex_, std::chrono::duration<double, std::milli>(ms_max), [this]() REQUIRES(mutex_) {
        return std::none_of(models_.begin(), models_.end(),
                            [](const Model& model) { return model.in_use > 0; });
      });
}

void ModelSet::StopAll() {
  const MutexLock lock(mutex_);
  CHECK(stopping_);
  for (size_t i = 0; i < models_.size(); ++i) {
    const ModelPhase phase = models_[i].phase;
    if (phase == ModelPhase::kLoading || phase == ModelPhase::kReady) StopModel(i, "stopping");
  }
  changed_.Wait(mutex_, [this]() REQUIRES(mutex_) {
    return std::all_of(models_.begin(), models_.end(),
                       [](const Model& model) { return model.phase == ModelPhase::kStopped; });
  });
}

void ModelSet::Reload() {
  const MutexLock lock(mutex_);
  for (Model& model : models_) {
    if (model.phase == ModelPhase::kReady && model.child != nullptr) model.child->Signal(SIGHUP);
    // Before it waits for signals, one would end it.
    model.reload_asked = model.phase == ModelPhase::kLoading;
  }
}

void ModelSet::Kill() {
  const MutexLock lock(mutex_);
  for (const Model& model : models_) {
    if (model.child != nullptr) model.child->Signal(SIGKILL);
  }
}

void ModelSet::Say(LogLevel level, const std::string& line) const {
  if (options_.log) options_.log(level, line);
}

// Plans again when it is time to, kills processes that do not stop, and deletes ended ones.
void ModelSet::RunTimes() {
  const MutexLock lock(mutex_);
  while (!over_) {
    const Status done = TryWork([&]() REQUIRES(mutex_) { DoTimes(); });
    if (!done) times_changed_.WaitFor(mutex_, kTimesAgain);
  }
}

void ModelSet::DoTimes() {
  const double now_ms = options_.clock->NowMs();
  double next_ms = plan_at_ms_ > 0 ? plan_at_ms_ : INFINITY;
  for (Model& model : models_) {
    if (model.phase != ModelPhase::kStopping || model.child == nullptr) continue;
    if (now_ms >= model.kill_at_ms) {
      model.child->Signal(SIGKILL);
      model.kill_at_ms = INFINITY;
      Say(LogLevel::kWarning, model.entry.name + ": does not stop; killing it");
    }
    next_ms = std::min(next_ms, model.kill_at_ms);
  }
  if (!ended_.empty()) {
    std::vector<std::unique_ptr<Child>> ended;
    ended.reserve(2 * models_.size());  // OnEnd() finds room
    ended.swap(ended_);
    const MutexUnlock unlocked(mutex_);
    ended.clear();  // waits for the child's thread, which may be about to return from OnEnd()
    return;
  }
  if (now_ms >= next_ms) return Replan();
  if (std::isinf(next_ms)) {
    times_changed_.Wait(mutex_);
  } else {
    times_changed_.WaitFor(mutex_, std::chrono::duration<double, std::milli>(next_ms - now_ms));
  }
}

}  // namespace cairn
