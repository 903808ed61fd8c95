// What is verified of each architecture. First of all: which may have ranges of their attention KV
// copied apart from the whole state.
//
// Where libllama does not support it, the call aborts the process, so it cannot be found out by
// trying in a server. `make conformance` tries it, in processes of their own, and writes what it
// found to architectures.tsv; the build puts that file into the program. An architecture that is
// not in it has none.

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
