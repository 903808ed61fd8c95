// For the readers of trace formats: one line taken apart, with errors that name it. Each format is
// a file of its own.

#ifndef CAIRN_LAB_SIM_TRACE_READER_H_
#define CAIRN_LAB_SIM_TRACE_READER_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/sim/trace.h"

namespace cairn {

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  virtual Status AddLine(const nlohmann::json& line, Trace* trace) = 0;
};

std::unique_ptr<TraceReader> MakeBlocksReader();
std::unique_ptr<TraceReader> MakeSessionsReader();
std::unique_ptr<TraceReader> MakeMessagesReader();

// A number that is not negative, and at most 2^53. kInvalidArgument says which field wants one.
Result<size_t> SizeField(const nlohmann::json& object, const char* field);
// The same of tokens, kTraceTokensMax at most. `absent`: what it is where there is none, if there
// need be none.
Result<size_t> TokensField(const nlohmann::json& object, const char* field,
                           std::optional<size_t> absent = std::nullopt);

}  // namespace cairn

#endif  // CAIRN_LAB_SIM_TRACE_READER_H_
