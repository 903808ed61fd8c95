// ProbeGrid: finds the exactness grid of an engine by trying.
//
// A grid of g tokens means: a prompt prefilled in chunks that are cut only at multiples of g, and
// always at the last multiple before its end, gives bit-identical logits wherever those cuts are.
// The probe prefills random prompts uncut and cut, and returns the first g that no prompt
// disproves. Then it tries that grid between boundaries, which are no multiples of it
// (tree/prompt_cuts.h). It cannot prove a grid: the returned one was only never seen to fail.
//
// A prompt is a few hundred tokens long. On a device other than the CPU it is longer than a chunk
// of full size, because kernels are chosen by the size of a chunk there (MemoryTraits::on_device).

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
  // disproved, and try less, because a start should not wait, and a smaller grid saves only few
  // tokens.
  bool find_smallest = false;
  // Called before each prompt with the share of the candidates' prompts that are done, in [0, 1].
  // It jumps when a candidate is disproved early.
  std::function<void(float)> progress = {};
};

struct GridProbe {
  size_t grid_tokens = 0;    // 0: every candidate was disproved
  bool at_messages = false;  // the grid holds between boundaries too
  bool finished = true;      // false: the probe was cut short, and the grid has no meaning
  size_t tokens_read = 0;
};

// GridSearch: the probe in steps of one chunk each, for a thread that has other work to do between
// them. Uses sequence `seq`; the context must not be used otherwise between the first step and the
// last. Threads: the one that owns the context.
class GridSearch {
 public:
  // `engine` must outlive this object. options.ms_max is ignored.
  GridSearch(Engine* engine, SeqId seq, const GridProbeOptions& options);
  ~GridSearch();
  GridSearch(const GridSearch&) = delete;
  GridSearch& operator=(const GridSearch&) = delete;

  // Decodes at most one chunk. Returns false if nothing is left to try.
  bool Step();
  // `finished` is set once Step() has returned false, unless a decode failed.
  GridProbe result() const;

 private:
  class Steps;
  const std::unique_ptr<Steps> steps_;
};

// Runs the complete probe. Uses sequence `seq` and leaves it empty. Threads: the one that owns the
// context.
GridProbe ProbeGrid(Engine* engine, SeqId seq, const Clock& clock, const GridProbeOptions& options);

}  // namespace cairn

#endif  // CAIRN_ENGINE_GRID_PROBE_H_
