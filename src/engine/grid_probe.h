// ProbeGrid: finds the exactness grid of an engine by trying.
//
// A grid of g tokens means: a prompt read in pieces that are cut only at multiples of g, and always
// at the last multiple before its end, gives the same logits to the bit wherever those cuts are.
// The probe reads random prompts whole and cut, and takes a g that no prompt disproves. It cannot
// prove one: what it returns was only never seen to fail.

#ifndef CAIRN_ENGINE_GRID_PROBE_H_
#define CAIRN_ENGINE_GRID_PROBE_H_

#include <functional>
#include <memory>

#include "base/clock.h"
#include "engine/engine.h"

namespace cairn {

struct GridProbeOptions {
  double ms_max = 10000;
  // true: try 1, 16, 32, 64, 128 and 256, thoroughly. false: begin at 64, which is seldom
  // disproved, and try less: a start should not wait, and a smaller grid saves but few tokens.
  bool find_smallest = false;
  // Called before each prompt with the share of the candidates' prompts that are behind, in [0, 1].
  // It jumps where a candidate is disproved early.
  std::function<void(float)> progress = {};
};

struct GridProbe {
  size_t grid_tokens = 0;  // 0: every candidate was disproved
  bool finished = true;    // false: it was cut short; grid_tokens says nothing then
  size_t tokens_read = 0;
};

// The probe in steps of one chunk each, for a thread that has something better to do at any time.
// Uses sequence `seq` and expects that nobody else uses the context between the first step and the
// last. Threads: the one that owns the context.
class GridSearch {
 public:
  // `engine` outlives it. Of `options`, ms_max has no meaning here.
  GridSearch(Engine* engine, SeqId seq, const GridProbeOptions& options);
  ~GridSearch();
  GridSearch(const GridSearch&) = delete;
  GridSearch& operator=(const GridSearch&) = delete;

  // Decodes at most one chunk. False: there was nothing left to try.
  bool Step();
  // finished: Step() has returned false and no decode failed.
  GridProbe result() const;

 private:
  class Steps;
  const std::unique_ptr<Steps> steps_;
};

// All of it in one go. Uses sequence `seq` and leaves it empty. Threads: the one that owns the
// context.
GridProbe ProbeGrid(Engine* engine, SeqId seq, const Clock& clock, const GridProbeOptions& options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRID_PROBE_H_
