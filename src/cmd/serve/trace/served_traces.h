// ServedTraces: what a server writes about itself: the trace of requests (--trace-out) and the
// events of its threads (--trace-events). Either may be off.
//
// Threads: Open and SayWritten by the main thread; what the getters return has its own rules.

#ifndef CAIRN_CMD_SERVE_TRACE_SERVED_TRACES_H_
#define CAIRN_CMD_SERVE_TRACE_SERVED_TRACES_H_

#include <memory>

#include "base/clock.h"
#include "base/fs.h"
#include "base/process/trace_events.h"
#include "base/result.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/base/server_log.h"
#include "trace/trace_writer.h"

namespace cairn {

class ServedTraces {
 public:
  // All must outlive this object.
  ServedTraces(const ServeOptions* options, const ServerLog* logger, Fs* fs, const Clock* clock)
      : options_(*options), logger_(*logger), fs_(fs), clock_(clock) {}

  // Call on the context thread, which is named in the events. Errors name the flag.
  Status Open();
  // Null if no requests are written.
  TraceWriter* requests() const { return requests_.get(); }
  // Null if no events are written.
  TraceEvents* events() const { return events_.get(); }
  // Writes what is left, and logs how much was written.
  void SayWritten() const;

 private:
  Status OpenRequests();
  Status OpenEvents();

  const ServeOptions& options_;
  const ServerLog& logger_;
  Fs* const fs_;
  const Clock* const clock_;
  std::unique_ptr<TraceWriter> requests_;
  std::unique_ptr<TraceEvents> events_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_TRACE_SERVED_TRACES_H_
