// TraceReader: parses the lines of one trace format. Each format has a file of its own; the helpers
// here return errors that name the field.

#ifndef CAIRN_TRACE_REPLAY_TRACE_READER_H_
#define CAIRN_TRACE_REPLAY_TRACE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "trace/replay/trace.h"

namespace cairn {

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  virtual Status AddLine(const Json& line, Trace* trace) = 0;
};

std::unique_ptr<TraceReader> MakeBlocksReader();
std::unique_ptr<TraceReader> MakeSessionsReader();
std::unique_ptr<TraceReader> MakeMessagesReader();

// Returns an integer from 0 to 2^53. kInvalidArgument names the field.
Result<size_t> SizeField(const Json& object, const char* field);
// As SizeField() for a token count, kTraceTokensMax at most. `absent`: the value if the field is
// missing; without it the field is required.
Result<size_t> TokensField(const Json& object, const char* field,
                           std::optional<size_t> absent = std::nullopt);

}  // namespace cairn

#endif  // CAIRN_TRACE_REPLAY_TRACE_READER_H_
