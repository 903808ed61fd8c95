// Random lives of some models under PlanModels: requests come, wait, run and end, processes load,
// die and exit. The plan is carried out in full after each step. Whatever happens,
//
//   - no more run than the limits allow, by their number and their memory, but for one alone;
//   - no place is left free for a model that is waited for, unless another one waits for it;
//   - no process is stopped while it answers, and no pinned one for another model;
//   - a naive model of "least recently used" names the same victim among idle ones;
//   - once nothing new comes and all that runs ends, every request has been answered or was told
//     that it is hopeless: no model keeps another one out.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "fleet/router/children/model_plan.h"

namespace cairn {
namespace {

constexpr size_t kModels = 5;

struct World {
  std::vector<PlannedModel> models = std::vector<PlannedModel>(kModels);
  std::vector<std::vector<uint64_t>> waiting = std::vector<std::vector<uint64_t>>(kModels);
  ModelLimits limits;
  double now_ms = 1;
  uint64_t numbers = 0;

  size_t running() const {
    return static_cast<size_t>(std::count_if(models.begin(), models.end(), [](const auto& one) {
      return one.phase != ModelPhase::kStopped;
    }));
  }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (const PlannedModel& one : models) {
      if (one.phase != ModelPhase::kStopped) sum += one.bytes;
    }
    return sum;
  }
  bool waits() const {
    return std::any_of(waiting.begin(), waiting.end(),
                       [](const auto& numbers_of_one) { return !numbers_of_one.empty(); });
  }
};

// Returns the idle model that was used longest ago, or kModels.
size_t NaiveVictim(const World& world) {
  size_t victim = kModels;
  for (size_t i = 0; i < kModels; ++i) {
    const PlannedModel& model = world.models[i];
    if (model.phase != ModelPhase::kReady || model.pinned || model.stop_asked) continue;
    if (model.in_use > 0) continue;
    if (victim == kModels || model.last_used_ms < world.models[victim].last_used_ms) victim = i;
  }
  return victim;
}

bool Has(const std::vector<size_t>& indexes, size_t index) {
  return std::find(indexes.begin(), indexes.end(), index) != indexes.end();
}

void CheckPlan(const World& world, const ModelsPlan& plan) {
  const bool stops_asked =
      std::any_of(world.models.begin(), world.models.end(), [](const PlannedModel& model) {
        return model.stop_asked && model.phase == ModelPhase::kReady;
      });
  const size_t running = world.running() + plan.start.size();
  uint64_t bytes = world.bytes();
  for (const size_t i : plan.start) bytes += world.models[i].bytes;
  RC_ASSERT(running <= world.limits.models);
  if (running > 1 && !plan.start.empty()) RC_ASSERT(bytes <= world.limits.bytes);
  for (const size_t i : plan.stop) {
    RC_ASSERT(world.models[i].phase == ModelPhase::kReady);
    RC_ASSERT(world.models[i].in_use == 0u);
    RC_ASSERT(!world.models[i].pinned || world.models[i].stop_asked);
  }
  for (const size_t i : plan.drain) RC_ASSERT(world.models[i].in_use > 0u);
  // A request is told that there is no hope only where pinned models have the places or the memory.
  size_t pinned = 0;
  uint64_t pinned_bytes = 0;
  for (size_t i = 0; i < kModels; ++i) {
    const bool comes = world.models[i].phase != ModelPhase::kStopped || !world.waiting[i].empty();
    if (!world.models[i].pinned || !comes || Has(plan.hopeless, i)) continue;
    ++pinned;
    pinned_bytes += world.models[i].bytes;
  }
  for (const size_t i : plan.hopeless) {
    RC_ASSERT(pinned > 0u);
    RC_ASSERT(pinned >= world.limits.models ||
              pinned_bytes + world.models[i].bytes > world.limits.bytes);
  }
  // The first victim is the naive one, where nothing else leaves.
  if (!stops_asked && !plan.stop.empty()) RC_ASSERT(plan.stop.front() == NaiveVictim(world));
  size_t waits = 0;
  for (size_t i = 0; i < kModels; ++i) {
    const bool starts = Has(plan.start, i);
    if (starts) RC_ASSERT(!world.waiting[i].empty());
    const bool waited = !world.waiting[i].empty() && world.models[i].phase == ModelPhase::kStopped;
    if (waited && !starts) ++waits;
  }
  for (size_t i = 0; i < kModels && waits == 1; ++i) {
    const bool waited = !world.waiting[i].empty() && world.models[i].phase == ModelPhase::kStopped;
    if (!waited || Has(plan.start, i)) continue;
    RC_ASSERT(running > 0u);
    RC_ASSERT(running == world.limits.models || bytes + world.models[i].bytes > world.limits.bytes);
  }
}

// The requests that wait for a ready model are its users from now on. A model that has become ready
// takes them before anything is planned: or else it could be stopped for another one unused.
bool Admit(World* world, size_t i) {
  PlannedModel& model = world->models[i];
  if (model.phase != ModelPhase::kReady || world->waiting[i].empty()) return false;
  model.in_use += world->waiting[i].size();
  model.last_used_ms = ++world->now_ms;
  world->waiting[i].clear();
  return true;
}

// Plans and does what the plan says, until it says nothing new.
void Settle(World* world) {
  for (;;) {
    for (size_t i = 0; i < kModels; ++i) {
      auto& wait = world->models[i].oldest_wait;
      wait = std::nullopt;
      if (!world->waiting[i].empty()) wait = world->waiting[i].front();
    }
    const ModelsPlan plan = PlanModels(world->models, world->limits, world->now_ms);
    CheckPlan(*world, plan);
    for (size_t i = 0; i < kModels; ++i) world->models[i].drains = Has(plan.drain, i);
    for (const size_t i : plan.start) world->models[i].phase = ModelPhase::kLoading;
    for (const size_t i : plan.stop) world->models[i].phase = ModelPhase::kStopping;
    for (const size_t i : plan.hopeless) world->waiting[i].clear();
    bool admitted = false;
    for (size_t i = 0; i < kModels; ++i) {
      if (!world->models[i].drains) admitted = Admit(world, i) || admitted;
    }
    if (!admitted && plan.start.empty() && plan.stop.empty() && plan.hopeless.empty()) return;
  }
}

void Step(World* world, size_t kind, size_t i) {
  PlannedModel& model = world->models[i];
  ++world->now_ms;
  switch (kind) {
    case 0:
    case 1:
      world->waiting[i].push_back(++world->numbers);
      break;
    case 2:
      if (model.phase != ModelPhase::kLoading) break;
      model.phase = ModelPhase::kReady;
      Admit(world, i);
      break;
    case 3:
      if (model.in_use > 0) --model.in_use;
      model.last_used_ms = world->now_ms;
      break;
    case 4:
      if (model.phase == ModelPhase::kStopping) {
        model.phase = ModelPhase::kStopped;
        model.stop_asked = false;
      }
      break;
    case 5:  // the process dies
      model.phase = ModelPhase::kStopped;
      model.in_use = 0;
      model.stop_asked = false;
      break;
    default:
      if (model.phase == ModelPhase::kReady) model.stop_asked = true;
  }
}

// All that runs goes on to its end.
void RunOut(World* world) {
  for (size_t round = 0; round < 20 * kModels; ++round) {
    for (size_t i = 0; i < kModels; ++i) {
      while (world->models[i].in_use > 0) Step(world, 3, i);
      Step(world, world->models[i].phase == ModelPhase::kLoading ? 2 : 4, i);
      Settle(world);
    }
  }
}

RC_GTEST_PROP(ModelsPlanProperty, KeepsItsPromisesInEveryLife, ()) {
  World world;
  const size_t models_max = *rc::gen::inRange<size_t>(0, 4);
  if (models_max > 0) world.limits.models = models_max;
  if (*rc::gen::arbitrary<bool>()) world.limits.bytes = 100;
  for (PlannedModel& model : world.models) {
    model.pinned = *rc::gen::inRange(0, 6) == 0;
    model.bytes = *rc::gen::inRange<uint64_t>(0, 130);
  }
  const auto steps = *rc::gen::container<std::vector<std::pair<size_t, size_t>>>(
      rc::gen::pair(rc::gen::inRange<size_t>(0, 7), rc::gen::inRange<size_t>(0, kModels)));
  for (const auto& [kind, index] : steps) {
    Step(&world, kind, index);
    Settle(&world);
  }
  RunOut(&world);
  RC_ASSERT(!world.waits());
}

}  // namespace
}  // namespace cairn
