// ModelSet: the models of a router and their processes. It starts a process when a request first
// needs it, stops processes by PlanModels (fleet/router/children/model_plan.h), and keeps count of
// who uses them.
//
//   connection thread ── Use("qwen") ──> waits for its turn and for the model ──> ModelLease
//                     <── the port; the model stays loaded while the lease lives
//
// A model whose process ends at its start has failed: the requests that wait for it get its last
// lines of log, and further ones too, until a pause is over that grows with each failure in a row.
// A process that ends while it serves is started again at once, or has failed too after the third
// time in a row without a complete answer.
//
// Thread-safe. One thread of its own acts on times, and deletes ended children.

#ifndef CAIRN_FLEET_ROUTER_CHILDREN_MODEL_SET_H_
#define CAIRN_FLEET_ROUTER_CHILDREN_MODEL_SET_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "fleet/router/children/child_process.h"
#include "fleet/router/children/model_plan.h"
#include "fleet/router/presets/models_folder.h"

namespace cairn {

struct ModelSetOptions {
  std::vector<ModelEntry> models;  // with distinct names and aliases
  ModelLimits limits;              // of the processes at a time
  // Starts the model's process without waiting for it. `running`: how many processes there are
  // then. The callbacks come from other threads. What it throws, where the system starts no more
  // threads for example, makes the model fail.
  std::function<std::unique_ptr<Child>(const ModelEntry& model, size_t running,
                                       ChildCallbacks callbacks)>
      start;
  // Returns the memory that a model is expected to need, until its process has said. May be empty.
  std::function<uint64_t(const ModelEntry& model)> expected_bytes = {};
  // Called when a process has started, is ready or has ended. It must not call the set. May be
  // empty.
  std::function<void()> on_change = {};
  // Receives the log of the processes. May be empty.
  std::function<void(const std::string& model, std::string_view line)> child_log = {};
  LogSink log = {};              // may be empty
  const Clock* clock = nullptr;  // outlives the set
};

// The life of a model so far, for lists and metrics.
struct ModelStatus {
  const ModelEntry* entry = nullptr;  // as long as the set
  ModelPhase phase = ModelPhase::kStopped;
  bool failed = false;  // the last process ended by itself; `exit_code` and `error` say how
  int exit_code = 0;
  std::string error;  // with the last lines of the process
  size_t in_use = 0;
  size_t waiting = 0;
  uint64_t starts = 0;
  uint64_t deaths = 0;    // processes that ended by themselves
  uint64_t unloads = 0;   // processes that were stopped for another model, by time or by request
  double loading_ms = 0;  // of the last process that became ready
  int port = 0;           // 0: not ready
  uint64_t bytes = 0;     // memory for weights and context; see ModelSet::SetBytes
};

class ModelSet;

// A model in use. It is not unloaded as long as this lives, unless its process dies.
class ModelLease {
 public:
  ModelLease(ModelSet* set, size_t model, bool counts_as_use, uint64_t process, int port,
             std::string name)
      : set_(set),
        model_(model),
        counts_as_use_(counts_as_use),
        process_(process),
        port_(port),
        name_(std::move(name)) {}
  ~ModelLease();
  ModelLease(const ModelLease&) = delete;
  ModelLease& operator=(const ModelLease&) = delete;

  int port() const { return port_; }
  uint64_t process() const { return process_; }  // a number that no other process has
  const std::string& name() const { return name_; }
  // The process has answered completely: it works.
  void Answered() { answered_ = true; }
  // The connection ended before the answer did. If the process has died, that is seen a moment
  // later; for so long others wait.
  void Broken();
  // The process has refused the connection, so it is about to end: nobody gets it any more.
  void Refused();
  bool was_refused() const { return was_refused_; }

 private:
  ModelSet* const set_;
  const size_t model_;
  const bool counts_as_use_;
  const uint64_t process_;
  const int port_;
  const std::string name_;
  bool answered_ = false;
  bool was_refused_ = false;
};

class ModelSet {
 public:
  // REQUIRES: `start` and `clock` are set.
  explicit ModelSet(ModelSetOptions options);
  // Kills the processes. REQUIRES: no lease is left.
  ~ModelSet();
  ModelSet(const ModelSet&) = delete;
  ModelSet& operator=(const ModelSet&) = delete;

  // Starts the models that are to be loaded at the start. To be called at most once.
  void Begin();

  // From now on these are the models, with distinct names and aliases. One that is not among them,
  // or is another one now, is unloaded when its requests have ended; those that wait for it fail.
  // The others keep running. Nothing is started.
  void SetModels(std::vector<ModelEntry> models);

  // Returns the model of a name or an alias; nullptr if there is none. It lives as long as the set,
  // even if it is none of the models any more.
  const ModelEntry* Find(std::string_view name) const;
  // The models that run or are about to.
  std::vector<const ModelEntry*> Loaded() const;

  struct UseOptions {
    bool autoload = true;       // load the model if it is not loaded
    bool counts_as_use = true;  // for the order in which models are unloaded
  };
  // Waits until the model accepts the request. `gone` is polled; true ends the wait. kUnavailable:
  // the model has failed, has no place, or the set is stopping. kInvalidArgument: it is not loaded,
  // and autoload is off. kCancelled: gone. REQUIRES: `entry` is one of the set's.
  Result<std::shared_ptr<ModelLease>> Use(const ModelEntry* entry, const UseOptions& options,
                                          const std::function<bool()>& gone);
  // The models that are ready, without counting as a use.
  std::vector<std::shared_ptr<ModelLease>> UseReady();

  // Loads the model as soon as there is a place, also if it has failed before. Does not wait.
  // kInvalidArgument: it runs already.
  Status Load(const ModelEntry* entry);
  // Unloads the model when its requests have ended; one that is loading at once. Does not wait.
  // kInvalidArgument: it does not run.
  Status Unload(const ModelEntry* entry);

  std::vector<ModelStatus> List() const;

  // Notes the memory that the model's process needs for weights and context.
  void SetBytes(const ModelEntry* model, uint64_t bytes);

  // From now on Use() fails. Waits until no model is in use, for at most `ms_max`; returns whether
  // that is so.
  bool Drain(double ms_max);
  // Stops all processes and waits for their ends: SIGTERM, then SIGKILL after the model's timeout.
  // REQUIRES: Drain() was called.
  void StopAll();
  // Has every process load its keys again: by SIGHUP, if need be once it is ready.
  void Reload();
  // Kills every process, without waiting.
  void Kill();

 private:
  friend class ModelLease;
  struct Model {
    ModelEntry entry;      // never changes
    bool removed = false;  // by SetModels(); its process may still run
    ModelPhase phase = ModelPhase::kStopped;
    std::unique_ptr<Child> child;
    uint64_t process = 0;  // the number of the process, of the whole set
    int port = 0;
    size_t in_use = 0;
    std::set<uint64_t> waits;           // numbers of waiting requests
    std::set<uint64_t> admitted;        // numbers of those whose threads have yet to take the model
    std::optional<uint64_t> load_wait;  // the number of a Load()
    bool drains = false;
    bool restart = false;
    bool stop_asked = false;
    bool reload_asked = false;  // while it loads
    bool answered = false;      // this process has answered
    bool refuses = false;       // this process takes no connections: it is about to end by itself
    size_t failures = 0;        // in a row
    uint64_t refusals = 0;      // counts up when all that wait must fail, with `error`
    std::string error;
    bool failed = false;
    int exit_code = 0;
    double start_after_ms = 0;
    double doubted_until_ms = 0;  // till then it is not known whether the process still runs
    double started_ms = 0;
    double kill_at_ms = 0;
    double last_used_ms = 0;
    uint64_t bytes = 0;
    double loading_ms = 0;
    uint64_t starts = 0;
    uint64_t deaths = 0;
    uint64_t unloads = 0;
    std::deque<std::string> lines;  // the last ones of its log
  };

  size_t IndexOf(const ModelEntry* model) const REQUIRES(mutex_);
  void Append(ModelEntry entry) REQUIRES(mutex_);
  void Remove(size_t index) REQUIRES(mutex_);
  void Replan() REQUIRES(mutex_);
  // Returns false, and the model has failed, if its process cannot be started.
  bool StartModel(size_t index) REQUIRES(mutex_);
  void StopModel(size_t index, const char* why) REQUIRES(mutex_);
  void AdmitWaiting() REQUIRES(mutex_);
  void Refuse(Model* model, std::string error) REQUIRES(mutex_);
  void EndFailed(Model* model, const std::string& what) REQUIRES(mutex_);
  void StopWaiting(Model* model, uint64_t number) REQUIRES(mutex_);
  Result<std::shared_ptr<ModelLease>> TryUse(size_t index, uint64_t number,
                                             const UseOptions& options) REQUIRES(mutex_);
  std::shared_ptr<ModelLease> Lend(size_t index, bool counts_as_use) REQUIRES(mutex_);
  void Say(LogLevel level, const std::string& line) const;
  void OnLine(const std::string& name, size_t index, uint64_t process, std::string_view line)
      EXCLUDES(mutex_);
  void OnReady(size_t index, uint64_t process, int port) EXCLUDES(mutex_);
  void OnEnd(size_t index, uint64_t process, const ChildEnd& end) EXCLUDES(mutex_);
  void EndUse(size_t index, uint64_t process, bool answered) EXCLUDES(mutex_);
  void Doubt(size_t index, uint64_t process) EXCLUDES(mutex_);
  void Lose(size_t index, uint64_t process) EXCLUDES(mutex_);
  void RunTimes() EXCLUDES(mutex_);
  // Does what is due, or waits until something may be.
  void DoTimes() REQUIRES(mutex_);

  const ModelSetOptions options_;
  mutable Mutex mutex_;
  CondVar changed_;
  CondVar times_changed_;
  // It grows, so that entries and indexes stay.
  std::deque<Model> models_ GUARDED_BY(mutex_);
  // To be deleted by the thread.
  std::vector<std::unique_ptr<Child>> ended_ GUARDED_BY(mutex_);
  uint64_t numbers_ GUARDED_BY(mutex_) = 0;
  double plan_at_ms_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool over_ GUARDED_BY(mutex_) = false;
  std::thread times_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_CHILDREN_MODEL_SET_H_
