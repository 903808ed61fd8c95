// DeviceProof: tries on a chunk of full size what other probes try on a few tokens. It runs at load
// where a device other than the CPU computes.
//
//   cold      [ a chunk of ubatch size | 23 tokens ]   the logits of both: a fact of the
//   fingerprint restored  [ === set from a state ===== | 23 tokens ]   must have the same logits
//
// Kernels of a device are chosen by the size of a chunk. So two drivers may agree on chunks of 8
// and 16 tokens and differ on one of 512. And a state that reads back byte for byte may be computed
// on otherwise, where it lies elsewhere in the device's memory than that of an uninterrupted run.
//
// Threads: the one that owns the context.

#ifndef CAIRN_ENGINE_LLAMA_PROOF_DEVICE_PROOF_H_
#define CAIRN_ENGINE_LLAMA_PROOF_DEVICE_PROOF_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/tokens.h"
#include "engine/engine.h"

namespace cairn {

class DeviceProof {
 public:
  // The number of tokens that Run and ColdHash decode: a chunk of full size, or of what the context
  // has room for, and those behind it.
  static size_t TokenCount(const Engine& engine);

  // `engine` must outlive this object; sequence `seq` is used, and empty before and after each
  // call. `tokens`: at least two, at most TokenCount.
  DeviceProof(Engine* engine, SeqId seq, Tokens tokens);

  struct Found {
    uint64_t hash = 0;  // of both logits of the cold run
    // Why a restored sequence cannot be relied on to go on with the bits of an uninterrupted one;
    // empty if it can, as far as was tried.
    std::string complaint;
  };
  // Runs all of the above, with each way in which a sequence is restored on this engine. Errors are
  // those of a decode, or of a state that could not be taken.
  Result<Found> Run();
  // The cold run alone. Returns its hash.
  Result<uint64_t> ColdHash();

 private:
  // The states at the end of the chunk. Those that the engine does not use are empty.
  struct States {
    Bytes snapshot;
    Bytes segment;
    Bytes full_state;
  };

  size_t chunk_end() const;
  Status DecodeChunk();
  // Decodes the tokens behind the chunk and returns their logits.
  Result<std::vector<float>> DecodeTail();
  Result<States> TakeStates();
  // Returns the complaint, if any.
  Result<std::string> RestoreEach(const States& states, const std::vector<float>& uninterrupted);
  Result<std::string> Explain(const std::string& way);

  Engine* const engine_;
  const SeqId seq_;
  const Tokens tokens_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_PROOF_DEVICE_PROOF_H_
