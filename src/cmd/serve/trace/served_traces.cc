#include "cmd/serve/trace/served_traces.h"

#include <utility>

namespace cairn {

Status ServedTraces::Open() {
  if (Status opened = OpenRequests(); !opened) return opened;
  return OpenEvents();
}

Status ServedTraces::OpenRequests() {
  if (options_.trace_out.empty()) return {};
  TraceWriterOptions trace;
  trace.log = logger_.sink();
  auto opened = TraceWriter::Open(options_.trace_out, std::move(trace));
  if (!opened) return Fail(opened.error().code, "--trace-out " + opened.error().message);
  requests_ = std::move(*opened);
  return {};
}

Status ServedTraces::OpenEvents() {
  if (options_.trace_events.empty()) return {};
  TraceEventsOptions events;
  events.log = logger_.sink();
  auto opened = TraceEvents::Open(fs_, options_.trace_events, clock_, events);
  if (!opened) {
    return Fail(opened.error().code, "--trace-events cannot be written: " + opened.error().message);
  }
  events_ = std::move(*opened);
  events_->NameThread("context");
  return {};
}

void ServedTraces::SayWritten() const {
  if (events_ != nullptr) {
    events_->Flush();
    const TraceEvents::Stats stats = events_->stats();
    logger_->info("{}: {} events written, {} lost", options_.trace_events, stats.written,
                  stats.lost);
  }
  if (requests_ == nullptr) return;
  requests_->Flush();
  const TraceWriter::Stats stats = requests_->stats();
  logger_->info("{}: {} requests written, {} lost", options_.trace_out, stats.written, stats.lost);
}

}  // namespace cairn
