// Common to `cairn-lab bench` and `cairn-lab bench load`: the names to play, the servers, and the
// file for the result.

#ifndef CAIRN_LAB_CMD_BENCH_SETUP_H_
#define CAIRN_LAB_CMD_BENCH_SETUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/bench/bench_result.h"

namespace cairn {

// Of `known`, those that are named in `lists`, each perhaps several with commas between, in the
// order of `known`; "all" names every one. kInvalidArgument: an unknown name. `kind` says what the
// names are: "scenario".
Result<std::vector<std::string>> ChosenNames(const std::string& kind,
                                             const std::vector<std::string>& known,
                                             const std::vector<std::string>& lists);

// "all, a, b" of a and b, for the help text.
std::string NamesText(const std::vector<std::string>& known);

// The server at `url` as it describes itself, called `name`, or by its program when that is empty.
// kUnavailable: nobody listens.
Result<ServerFigures> DescribeServer(const std::string& url, const std::string& name,
                                     const std::string& command_line);

// Bytes of our made-up text for a token of the first server that has a tokenizer to ask.
double BytesPerToken(const std::vector<std::string>& urls, uint64_t seed);

Status WriteText(const std::string& path, const std::string& text);

}  // namespace cairn

#endif  // CAIRN_LAB_CMD_BENCH_SETUP_H_
