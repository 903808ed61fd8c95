// Shared by `cairn-lab bench` and `cairn-lab bench load`: the names to play, the servers, and the
// output file.

#ifndef CAIRN_LAB_CMD_BENCH_SETUP_H_
#define CAIRN_LAB_CMD_BENCH_SETUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_result.h"

namespace cairn {

// Returns those of `known` that `lists` name, in the order of `known`. Each list may hold several
// names with commas between; "all" stands for every name. kInvalidArgument: an unknown name. `kind`
// says what a name denotes, for the message: "scenario".
Result<std::vector<std::string>> ChosenNames(const std::string& kind,
                                             const std::vector<std::string>& known,
                                             const std::vector<std::string>& lists);

// Returns "all, a, b" for a and b, for the help text.
std::string NamesText(const std::vector<std::string>& known);

// Returns the server's description of itself, under `name`, or its program's name if that is empty.
// kUnavailable: no server listens.
Result<ServerFigures> DescribeServer(const std::string& url, const std::string& name,
                                     const std::string& command_line);

// Returns the bytes of made-up text per token, by the first server that has a tokenizer.
double BytesPerToken(const std::vector<std::string>& urls, uint64_t seed);

Status WriteText(const std::string& path, const std::string& text);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_SETUP_H_
