// SseParser: parses a byte stream into Server-Sent Events, as the WHATWG HTML standard defines
// them. The bytes may be split anywhere, even inside a line end or a character.

#ifndef CAIRN_LAB_CLIENT_SSE_H_
#define CAIRN_LAB_CLIENT_SSE_H_

#include <functional>
#include <string>
#include <string_view>

namespace cairn {

struct SseEvent {
  std::string event;  // "message" if the stream names none
  std::string data;   // multiple data lines are joined by line feeds
  std::string id;     // the last id seen, possibly in an earlier event
};

// Not thread-safe.
class SseParser {
 public:
  // Calls `on_event` for every event that these bytes complete. As in the standard, an event
  // without data is ignored, and an event that the stream ends before its empty line is dropped.
  void Feed(std::string_view bytes, const std::function<void(const SseEvent& event)>& on_event);

  // Returns whether an unfinished event is buffered.
  bool InsideEvent() const { return !line_.empty() || !data_.empty() || !event_.empty(); }

 private:
  void EndLine(const std::function<void(const SseEvent& event)>& on_event);
  void TakeField(std::string_view name, std::string_view value);

  std::string line_;
  std::string event_;
  std::string data_;
  std::string id_;
  bool first_line_ = true;     // a byte order mark may come first
  bool after_return_ = false;  // a line feed now belongs to the preceding carriage return
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_SSE_H_
