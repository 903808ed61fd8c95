// SseParser: Server-Sent Events out of bytes, as the WHATWG HTML standard reads an event stream.
// Bytes may be cut anywhere, inside a line end or a character too.

#ifndef CAIRN_LAB_CLIENT_SSE_H_
#define CAIRN_LAB_CLIENT_SSE_H_

#include <functional>
#include <string>
#include <string_view>

namespace cairn {

struct SseEvent {
  std::string event;  // "message" when the stream names none
  std::string data;   // several data lines are joined by line feeds
  std::string id;     // the last id seen, also in an earlier event
};

// Not thread-safe.
class SseParser {
 public:
  // Calls `on_event` for every event that these bytes complete. An event without data is none, and
  // one that the stream's end cuts off before its empty line is dropped, as the standard has it.
  void Feed(std::string_view bytes, const std::function<void(const SseEvent& event)>& on_event);

  // Whether bytes of an unfinished event are held.
  bool InsideEvent() const { return !line_.empty() || !data_.empty() || !event_.empty(); }

 private:
  void EndLine(const std::function<void(const SseEvent& event)>& on_event);
  void TakeField(std::string_view name, std::string_view value);

  std::string line_;
  std::string event_;
  std::string data_;
  std::string id_;
  bool first_line_ = true;     // a byte order mark may stand here
  bool after_return_ = false;  // a line feed now belongs to the carriage return before it
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_SSE_H_
