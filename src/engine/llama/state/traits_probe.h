// TraitsProbe: finds MemoryTraits at load by trying. It decodes a few tokens and measures their
// state, takes that state apart and assembles it again, and finds the exactness grid.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_LLAMA_STATE_TRAITS_PROBE_H_
#define CAIRN_ENGINE_LLAMA_STATE_TRAITS_PROBE_H_

#include "base/log.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/proof/device_proof.h"
#include "engine/llama/state/llama_full_states.h"
#include "engine/llama/state/llama_identity.h"
#include "engine/llama/state/llama_segments.h"
#include "engine/llama/state/llama_sequences.h"
#include "engine/llama/state/llama_spliced_segments.h"

namespace cairn {

class TraitsProbe {
 public:
  // The parts of an engine that the probe uses. All must outlive it.
  struct Parts {
    const LoadedModel* loaded;
    const ModelInfo* info;
    LlamaSequences* sequences;
    LlamaSegments* segments;
    LlamaSplicedSegments* spliced_segments;
    LlamaFullStates* full_states;
    LlamaIdentity* identity;
  };

  // `traits`: shared with these parts, which read them. `engine`: consists of these parts; the grid
  // is probed through its interface.
  TraitsProbe(const Parts& parts, Engine* engine, MemoryTraits* traits)
      : parts_(parts), engine_(engine), traits_(traits) {}

  // Fills in the traits and the identity's proven bits. Leaves all sequences empty.
  // kInvalidArgument if the context or the ubatch is too small for the probe.
  Status Measure(const LlamaOptions& options);

 private:
  // The size of the state after the probe's first tokens, or after all of them.
  struct StateSizes {
    size_t full;
    size_t partial;
  };
  StateSizes SizesNow() const;
  // Fills in the class and the sizes. Returns whether there is a window whose cells are reused.
  bool SetSizes(const StateSizes& first, const StateSizes& all, size_t token_count, bool swa_full);
  // Whether the model has a sliding window all of whose rows are kept (--swa-full).
  bool KeepsWindowWhole() const;
  // Finds traits.segments and traits.full_states with the contents of the probe's sequence.
  void ProveTransport(const LogSink& log);
  // Fills in traits.on_device and restores_bits, and the bits of a chunk as a fact of the identity.
  // ProveChunkAgain compares these with those of a second run. Both do nothing without a device.
  Status ProveOnDevice(const LogSink& log);
  Status ProveChunkAgain();
  DeviceProof ProofOfChunk() const;
  // Returns false if no earlier start measured the grid. REQUIRES: the identity's bits are proven.
  Result<bool> FindKnownGrid(const LlamaOptions& options);
  void SetGrid(const GridProbe& grid, bool measured);
  void MeasureGrid(const LlamaOptions& options);

  const Parts parts_;
  Engine* const engine_;
  MemoryTraits* const traits_;
  uint64_t chunk_hash_ = 0;  // where traits.on_device
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_STATE_TRAITS_PROBE_H_
