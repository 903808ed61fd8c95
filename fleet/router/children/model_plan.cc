#include "fleet/router/children/model_plan.h"

#include <algorithm>

namespace cairn {
namespace {

class Planner {
 public:
  Planner(std::span<const PlannedModel> models, const ModelLimits& limits, double now_ms)
      : models_(models), limits_(limits), now_ms_(now_ms), leaves_(models.size(), false) {}

  ModelsPlan Plan() {
    for (size_t i = 0; i < models_.size(); ++i) CountRunning(i);
    for (size_t i = 0; i < models_.size(); ++i) StopUnneeded(i);
    for (const size_t i : Wanted()) MakeRoomFor(i);
    std::sort(plan_.drain.begin(), plan_.drain.end());
    return plan_;
  }

 private:
  // The part of the limits that some models take.
  struct Taken {
    size_t models = 0;
    uint64_t bytes = 0;

    void Add(const PlannedModel& model) {
      ++models;
      bytes += model.bytes;
    }
    void Remove(const PlannedModel& model) {
      --models;
      bytes -= model.bytes;
    }
  };

  bool HasRoom(const Taken& taken, size_t i) const {
    if (taken.models == 0) return true;
    return taken.models < limits_.models && taken.bytes <= limits_.bytes &&
           models_[i].bytes <= limits_.bytes - taken.bytes;
  }

  void CountRunning(size_t i) {
    const PlannedModel& model = models_[i];
    if (model.phase == ModelPhase::kStopped) return;
    now_.Add(model);
    if (model.phase == ModelPhase::kStopping) return;
    later_.Add(model);
    if (model.pinned) pinned_.Add(model);
  }

  // The model makes room: at once if it is idle, or else when it has become idle.
  void Leave(size_t i) {
    leaves_[i] = true;
    later_.Remove(models_[i]);
    if (models_[i].pinned) pinned_.Remove(models_[i]);
    (models_[i].in_use == 0 ? plan_.stop : plan_.drain).push_back(i);
  }

  void StopUnneeded(size_t i) {
    const PlannedModel& model = models_[i];
    if (model.phase != ModelPhase::kReady) return;
    if (model.stop_asked) return Leave(i);
    if (model.pinned || model.in_use > 0 || model.oldest_wait.has_value()) return;
    const double idle_until_ms = model.last_used_ms + model.idle_ms_max;
    if (now_ms_ >= idle_until_ms) return Leave(i);
    WakeAt(idle_until_ms);
  }

  void WakeAt(double ms) { plan_.next_ms = std::min(plan_.next_ms, ms); }

  // The models to start, the most urgent first.
  std::vector<size_t> Wanted() {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < models_.size(); ++i) {
      const PlannedModel& model = models_[i];
      if (model.phase != ModelPhase::kStopped) continue;
      if (!model.oldest_wait.has_value() && !model.restart) continue;
      if (now_ms_ < model.start_after_ms) {
        WakeAt(model.start_after_ms);
      } else {
        wanted.push_back(i);
      }
    }
    std::stable_sort(wanted.begin(), wanted.end(), [this](size_t a, size_t b) {
      return models_[a].oldest_wait.value_or(UINT64_MAX) <
             models_[b].oldest_wait.value_or(UINT64_MAX);
    });
    return wanted;
  }

  void MakeRoomFor(size_t i) {
    const PlannedModel& model = models_[i];
    if (!HasRoom(later_, i)) {
      // A restart takes no place from others.
      if (!model.oldest_wait.has_value() || !StopOthersFor(i)) return;
    }
    // This place is for `i`, once the models that have it have left.
    later_.Add(model);
    if (model.pinned) pinned_.Add(model);
    if (!HasRoom(now_, i)) return;
    now_.Add(model);
    plan_.start.push_back(i);
  }

  // Has models leave until there is room for `i`. Stops none and returns false if that would not
  // do: models that are loading can be stopped later, and pinned ones never.
  bool StopOthersFor(size_t i) {
    if (!HasRoom(pinned_, i)) {
      plan_.hopeless.push_back(i);
      return false;
    }
    Taken left = later_;
    for (size_t other = 0; other < models_.size(); ++other) {
      if (MayLeave(other)) left.Remove(models_[other]);
    }
    if (!HasRoom(left, i)) return false;
    while (!HasRoom(later_, i)) Leave(Victim());
    return true;
  }

  bool MayLeave(size_t i) const {
    return models_[i].phase == ModelPhase::kReady && !models_[i].pinned && !leaves_[i];
  }

  // The least recently used of the models that may be stopped, idle ones before busy ones, and of
  // these one that drains already. REQUIRES: there is one.
  size_t Victim() const {
    size_t victim = models_.size();
    for (size_t i = 0; i < models_.size(); ++i) {
      if (!MayLeave(i)) continue;
      if (victim == models_.size() || IsBetterVictim(models_[i], models_[victim])) victim = i;
    }
    return victim;
  }

  static bool IsBetterVictim(const PlannedModel& a, const PlannedModel& b) {
    const bool a_idle = a.in_use == 0;
    const bool b_idle = b.in_use == 0;
    if (a_idle != b_idle) return a_idle;
    if (!a_idle && a.drains != b.drains) return a.drains;
    return a.last_used_ms < b.last_used_ms;
  }

  const std::span<const PlannedModel> models_;
  const ModelLimits limits_;
  const double now_ms_;
  ModelsPlan plan_;
  std::vector<bool> leaves_;  // of the ready ones: those that stop or drain
  Taken now_;                 // by all processes, with those that the plan starts
  Taken later_;               // when those that leave have left, and those that wait run
  Taken pinned_;              // of these, by pinned ones
};

}  // namespace

ModelsPlan PlanModels(std::span<const PlannedModel> models, const ModelLimits& limits,
                      double now_ms) {
  return Planner(models, limits, now_ms).Plan();
}

}  // namespace cairn
