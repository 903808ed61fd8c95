// VerifiedArchitectures: the verified facts of each architecture; above all, whether ranges of its
// attention KV can be copied separately from the full state.
//
// Where libllama does not support that, the call aborts the process, so a server cannot find it out
// by trying. `make conformance` tries it, in processes of their own, and writes the results to
// architectures.tsv; the build embeds that file in the program. An architecture that is not in it
// has no verified facts.

#ifndef CAIRN_ENGINE_VERIFIED_ARCHITECTURES_H_
#define CAIRN_ENGINE_VERIFIED_ARCHITECTURES_H_

#include <string_view>

#include "engine/architecture_table.h"

namespace cairn {

// Threads: any.
const ArchitectureTable& VerifiedArchitectures();
bool SegmentsVerified(std::string_view architecture);
bool FullStatesMayBeTried(std::string_view architecture);

}  // namespace cairn

#endif  // CAIRN_ENGINE_VERIFIED_ARCHITECTURES_H_
