// CuredRequests: the requests of a trace as they would have been without the faults that made them
// differ from earlier ones.
//
//   recorded   1 [system a][user 1]   2 [system b][user 1][answer 1][user 2]
//   cured      1 [system a][user 1]   2 [system a][user 1][answer 1][user 2]
//
// The numbers of a trace's tokens stand for a token and all before it (docs/traces.md). So a cured
// request has the numbers of the earlier one up to the place where both have said the same, and its
// own behind it; and a later request that continues a cured one continues its cured form.
//
// Pure; any thread.

#ifndef CAIRN_CMD_DOCTOR_CURED_TRACE_H_
#define CAIRN_CMD_DOCTOR_CURED_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "trace/replay/sim_server.h"
#include "trace/replay/trace.h"

namespace cairn {

// NumberOwners: which request had a number first.
class NumberOwners {
 public:
  struct Known {
    size_t tokens = 0;  // so many of the first numbers are known
    size_t owner = 0;   // of the last of them; that request begins with all of them
  };

  Known Find(const std::vector<BlockRange>& numbers) const;
  // Those behind the first `known` are new, and the owner's.
  void Add(const std::vector<BlockRange>& numbers, size_t known, size_t owner);

 private:
  struct Owned {
    uint32_t last = 0;
    size_t owner = 0;
  };
  std::map<uint32_t, Owned> owned_;  // by the first number
};

// The part of a request that an earlier one has too, but for a fault.
struct Cure {
  size_t earlier = 0;         // its index
  size_t earlier_tokens = 0;  // of its prompt and answer
  size_t tokens = 0;          // of this one's prompt
};

// `cures`: of each request; nullopt: it stays as it is. REQUIRES: all have token_ids.
std::vector<TraceRequest> CuredRequests(const std::vector<TraceRequest>& requests,
                                        const std::vector<std::optional<Cure>>& cures);

// Requests in the order of their arrival.
struct RecordedRequests {
  std::vector<TraceRequest> requests;  // all have token_ids
  std::vector<double> at_ms;
};

// Numbers single tokens where the trace has blocks; answers that it does not have are empty.
RecordedRequests RecordedRequestsOf(const Trace& trace);

// Returns how many tokens of each prompt a simulated server reuses. A prompt that is too long for
// it reuses nothing. kInvalidArgument as SimServer::Make.
Result<std::vector<size_t>> ReusedInReplay(const std::vector<TraceRequest>& requests,
                                           const std::vector<double>& at_ms,
                                           const SimOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_DOCTOR_CURED_TRACE_H_
