// The checks of `make conformance`. Each loads one model, tries one thing, and returns the text of
// one cell of the table (engine/architecture_table.h). libllama may abort in any of them, so each
// runs in a process of its own.

#ifndef CAIRN_TESTS_CONFORMANCE_CHECKS_H_
#define CAIRN_TESTS_CONFORMANCE_CHECKS_H_

#include <cstddef>
#include <string>

namespace cairn::conformance {

// "MEMORY\tGRID": the class of the memory, and the smallest grid that was not disproved in
// `probe_ms_max`. 0: it is not looked for.
std::string CheckMemoryAndGrid(const std::string& model_path, double probe_ms_max);

// Whether a snapshot leads back: the state is taken at several positions, the window's edges among
// them, the run goes on, the state is set back and what stands after it cut off. Then the same
// tokens must give the same bits.
std::string CheckSnapshot(const std::string& model_path);

// Whether attention KV travels in ranges, through a scratch sequence; see segment_check.cc.
std::string CheckSegments(const std::string& model_path);

// Whether all that a sequence holds can be taken out and set back; see whole_check.cc.
std::string CheckWhole(const std::string& model_path);

// "K of 12": resumes at random multiples of `grid_tokens` that gave a cold run's bits, through
// LlamaEngine, as the server resumes.
std::string CheckExactness(const std::string& model_path, size_t grid_tokens);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_CHECKS_H_
