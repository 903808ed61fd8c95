// PlanModels: which models to start, to drain and to stop. A pure function of the models' states.
//
//   stopped ── start ──> loading ── ready ──> ready ── stop ──> stopping ── exited ──> stopped
//                                               └─ drains: accepts no request, until none runs
//
// At most so many processes run as the limits allow, by their number and by the memory that they
// need; a model that needs more than there is runs alone. A stopped model that requests wait for is
// started, the one of the oldest request first. Where all places are taken, the least recently used
// model makes room: an idle one if there is any, or else a busy one, which drains. So no request is
// ever cut off for another model, and a model that is busy all the time cannot keep another one
// out. Draining is derived anew each time: it ends when the reason for it does. A busy model that
// drains goes on before another one begins: or else two of them could take turns, and neither would
// become idle.

#ifndef CAIRN_FLEET_ROUTER_CHILDREN_MODEL_PLAN_H_
#define CAIRN_FLEET_ROUTER_CHILDREN_MODEL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace cairn {

enum class ModelPhase { kStopped, kLoading, kReady, kStopping };

struct PlannedModel {
  ModelPhase phase = ModelPhase::kStopped;
  // Requests that it answers, with those that waited when it became ready: or else it could be
  // stopped for another model before their threads have run.
  size_t in_use = 0;
  // The number of the oldest request that waits for it; numbers grow with time.
  std::optional<uint64_t> oldest_wait;
  bool restart = false;     // to be started without a request too, if there is a place
  bool stop_asked = false;  // to be stopped as soon as no request runs
  bool pinned = false;      // never stopped for another model or for being idle
  bool drains = false;      // the last plan had it drain
  double last_used_ms = 0;
  double idle_ms_max = std::numeric_limits<double>::infinity();  // then it is stopped
  double start_after_ms = 0;  // not to be started before, because of its last failures
  uint64_t bytes = 0;         // memory of its weights and its context
};

struct ModelLimits {
  size_t models = SIZE_MAX;  // at least 1
  uint64_t bytes = UINT64_MAX;
};

struct ModelsPlan {
  // Indexes of models.
  std::vector<size_t> start;
  std::vector<size_t> stop;
  std::vector<size_t> drain;  // they are ready and must accept no request
  // They wait for places or memory that pinned models have; their requests fail.
  std::vector<size_t> hopeless;
  // When to plan again if nothing happens; infinity: never.
  double next_ms = std::numeric_limits<double>::infinity();
};

ModelsPlan PlanModels(std::span<const PlannedModel> models, const ModelLimits& limits,
                      double now_ms);

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_CHILDREN_MODEL_PLAN_H_
