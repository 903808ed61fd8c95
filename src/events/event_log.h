// EventLog: the batches that were published since a begin, for consumers that missed some. It never
// drops its first ones: consumers accept a replay only if it begins where they asked. When it is
// full, a new log takes its place, which begins with all blocks cleared and the whole set anew.
//
// Threads: one at a time.

#ifndef CAIRN_EVENTS_EVENT_LOG_H_
#define CAIRN_EVENTS_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cairn {

class EventLog {
 public:
  // Returns the number of the batch.
  uint64_t Add(std::string payload) {
    bytes_ += payload.size();
    payloads_.push_back(std::move(payload));
    return payloads_.size() - 1;
  }
  const std::string& payload(size_t number) const { return payloads_[number]; }
  size_t size() const { return payloads_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::string> payloads_;  // by number
  size_t bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_EVENTS_EVENT_LOG_H_
