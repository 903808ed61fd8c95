// For tests of fleets.

#ifndef CAIRN_LAB_FLEET_FLEET_FIXTURE_H_
#define CAIRN_LAB_FLEET_FLEET_FIXTURE_H_

#include <string>
#include <utility>

#include "trace/replay/trace.h"

namespace cairn::test {

// The same requests as a trace that names no sessions: each is one of its own.
inline Trace Unnamed(const Trace& trace) {
  Trace unnamed;
  unnamed.block_tokens = trace.block_tokens;
  unnamed.absolute_time = true;
  for (const TraceSession& session : trace.sessions) {
    for (const TraceRequest& request : session.requests) {
      unnamed.sessions.push_back({std::to_string(unnamed.sessions.size()), {request}});
    }
  }
  return unnamed;
}

}  // namespace cairn::test

#endif  // CAIRN_LAB_FLEET_FLEET_FIXTURE_H_
