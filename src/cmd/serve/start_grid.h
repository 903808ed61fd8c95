// StartGrid: obtains the server's exactness grid at its start.
//
//   --grid N                        N
//   measured at an earlier start    that value, from the cache folder
//   --reuse exact                   measured before the server is ready, and saved
//   otherwise                       the default; measured while idle before the first request, and
//                                   saved for the next start. The request ends the measurement at
//                                   once, in the middle of a chunk, and does not wait for it

#ifndef CAIRN_CMD_SERVE_START_GRID_H_
#define CAIRN_CMD_SERVE_START_GRID_H_

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "engine/grid_probe.h"
#include "engine/llama/model/llama_options.h"
#include "sched/request/idle_work.h"
#include "store/folder/identity.h"

namespace cairn {

// Threads: the context thread, and any for Interrupt.
class StartGrid final : public IdleWork {
 public:
  // `folder` is the cache folder. If it is empty, the grid is not saved, and measured only with
  // `exact`. `fs` and `clock` outlive this object.
  StartGrid(Fs* fs, const std::string& folder, bool exact, const Clock* clock, LogSink log);

  // Call before the model is loaded; this object outlives the loading.
  void Fill(LlamaOptions* llama);
  // Call after loading. `facts` is LlamaEngine::GridFacts, called only if the grid is saved.
  // Returns the idle work until the first request; null if there is none. `engine` outlives it.
  IdleWork* AfterLoad(Engine* engine, const std::function<Result<std::string>()>& facts);

  bool Step() override;
  void End() override;
  void Interrupt() override { interrupted_.store(true, std::memory_order_relaxed); }

 private:
  void Keep(const MeasuredGrid& grid) const;

  const std::optional<MeasuredGrids> grids_;
  const bool exact_;
  const Clock* const clock_;
  const LogSink log_;
  bool given_ = false;  // given by --grid
  Engine* engine_ = nullptr;
  std::string facts_;
  double begin_ms_ = 0;
  std::optional<GridSearch> search_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_START_GRID_H_
