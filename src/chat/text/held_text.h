// HeldText: text that arrives at its end and is taken from its front, such as an answer that is
// split while it is generated. Taking costs the bytes that are taken, however much is held behind
// them; std::string::erase would move all of these each time.
//
// Not thread-safe.

#ifndef CAIRN_CHAT_TEXT_HELD_TEXT_H_
#define CAIRN_CHAT_TEXT_HELD_TEXT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

class HeldText {
 public:
  void Append(std::string_view text) { text_ += text; }
  // Drops all if `bytes` are more.
  void Drop(size_t bytes) {
    bytes = std::min(bytes, size());
    begin_ += bytes;
    dropped_ += bytes;
    // At most as many bytes are moved as were dropped since the last time.
    if (begin_ <= text_.size() / 2) return;
    text_.erase(0, begin_);
    moved_bytes_ += text_.size();
    begin_ = 0;
  }

  // Valid until the next Append or Drop.
  std::string_view view() const { return std::string_view(text_).substr(begin_); }
  size_t size() const { return text_.size() - begin_; }
  bool empty() const { return size() == 0; }
  // Returns how much of all text since the start lies before the view.
  size_t dropped() const { return dropped_; }
  uint64_t moved_bytes() const { return moved_bytes_; }

 private:
  std::string text_;
  size_t begin_ = 0;  // in text_: what comes before was dropped
  size_t dropped_ = 0;
  uint64_t moved_bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_HELD_TEXT_H_
