// StartGrid: where a server has its exactness grid from, start after start.
//
//   --grid N                        N
//   measured at an earlier start    that one, from the cache folder
//   --reuse exact                   measured before the server is ready, and kept
//   else                            the usual one; measured between the start and the first
//                                   request, and kept for the next start

#ifndef CAIRN_CMD_SERVE_START_GRID_H_
#define CAIRN_CMD_SERVE_START_GRID_H_

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "engine/grid_probe.h"
#include "engine/llama/model/llama_options.h"
#include "sched/upkeep/idle_work.h"
#include "store/measured_grids.h"

namespace cairn {

// Threads: the one that owns the context.
class StartGrid final : public IdleWork {
 public:
  // `folder`: the cache folder; empty: nothing is remembered, and only `exact` measures.
  // `fs` and `clock` outlive it.
  StartGrid(Fs* fs, const std::string& folder, bool exact, const Clock* clock, LogSink log);

  // Before the model is loaded. It outlives the loading.
  void Fill(LlamaOptions* llama);
  // After that. `facts`: LlamaEngine::GridFacts, asked for only where the grid is remembered. The
  // work to do until the first request comes; null: none. `engine` outlives it.
  IdleWork* AfterLoad(Engine* engine, const std::function<Result<std::string>()>& facts);

  bool Step() override;
  void End() override;

 private:
  void Keep(size_t grid_tokens) const;

  const std::optional<MeasuredGrids> grids_;
  const bool exact_;
  const Clock* const clock_;
  const LogSink log_;
  bool given_ = false;  // by --grid
  Engine* engine_ = nullptr;
  std::string facts_;
  double begin_ms_ = 0;
  std::optional<GridSearch> search_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_START_GRID_H_
