// StopText: turns the bytes of generated tokens into text that can be sent: whole UTF-8 characters
// only, and no part of a stop text, even one that spans tokens.

#ifndef CAIRN_SCHED_ANSWER_STOP_TEXT_H_
#define CAIRN_SCHED_ANSWER_STOP_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

namespace cairn {

class StopText {
 public:
  // Empty stop texts are ignored.
  explicit StopText(std::vector<std::string> stop_texts);

  // Takes the bytes of the next token; returns the text that is safe to send now.
  std::string Push(std::string_view bytes);
  // Returns the text held back, at the answer's end. Invalid UTF-8 becomes U+FFFD.
  std::string Finish();

  // Bytes taken for which no text was returned: still held back, or cut off by the stop text.
  size_t unsent_bytes() const { return held_.size() + cut_bytes_; }

  // The stop text that was met; empty if there is none. No text after it is sent.
  const std::string& stopped_by() const { return stopped_by_; }

 private:
  // Bytes at the end of held_ that may be the beginning of a stop text.
  size_t PossibleStopBytes() const;

  const std::vector<std::string> stop_texts_;
  std::string held_;
  size_t cut_bytes_ = 0;
  std::string stopped_by_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_STOP_TEXT_H_
