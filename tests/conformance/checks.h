// The checks of `make conformance`. Each loads one model, checks one property, and returns the text
// of one cell of the table (engine/architecture_table.h). libllama may abort in any of them, so
// each runs in a process of its own.

#ifndef CAIRN_TESTS_CONFORMANCE_CHECKS_H_
#define CAIRN_TESTS_CONFORMANCE_CHECKS_H_

#include <cstddef>
#include <string>

namespace cairn::conformance {

// Returns "MEMORY\tGRID": the memory class, and the smallest grid that was not refuted within
// `probe_ms_max`. 0: the grid is not probed.
std::string CheckMemoryAndGrid(const std::string& model_path, double probe_ms_max);

// Checks that a snapshot restores the state. It is taken at several positions, the window's edges
// among them; the run continues; then the state is set again and everything after it is truncated.
// The same tokens must then give the same bits.
std::string CheckSnapshot(const std::string& model_path);

// Checks that attention KV can be moved in ranges by way of a scratch sequence; segment_check.cc.
std::string CheckSegments(const std::string& model_path);

// Checks that a sequence's full state can be saved and set again; see whole_check.cc.
std::string CheckWhole(const std::string& model_path);

// Returns "K of 12": how many resumes at random multiples of `grid_tokens`, through LlamaEngine as
// in the server, gave the bits of a cold run.
std::string CheckExactness(const std::string& model_path, size_t grid_tokens);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_CHECKS_H_
