#include "lab/client/sse.h"

#include <cstddef>

namespace cairn {

void SseParser::Feed(std::string_view bytes,
                     const std::function<void(const SseEvent& event)>& on_event) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    const size_t end = bytes.find_first_of("\r\n");
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    EndLine(on_event);
  }
}

void SseParser::EndLine(const std::function<void(const SseEvent& event)>& on_event) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string_view line = line_;
  if (first_line_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  first_line_ = false;

  if (!line.empty()) {
    const size_t colon = line.find(':');
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    TakeField(line.substr(0, colon), value);  // a comment is a field without a name
    line_.clear();
    return;
  }
  line_.clear();
  if (!data_.empty()) {
    data_.pop_back();
    on_event({event_.empty() ? "message" : event_, data_, id_});
  }
  data_.clear();
  event_.clear();
}

void SseParser::TakeField(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_.append(value).push_back('\n');
  } else if (name == "event") {
    event_ = value;
  } else if (name == "id" && value.find('\0') == std::string_view::npos) {
    id_ = value;
  }
}

}  // namespace cairn
