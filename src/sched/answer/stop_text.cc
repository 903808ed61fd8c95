#include "sched/answer/stop_text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace cairn {
namespace {

std::vector<std::string> WithoutEmpty(std::vector<std::string> texts) {
  std::erase(texts, "");
  return texts;
}

}  // namespace

StopText::StopText(std::vector<std::string> stop_texts)
    : stop_texts_(WithoutEmpty(std::move(stop_texts))) {}

std::string StopText::Push(std::string_view bytes) {
  if (!stopped_by_.empty()) return "";
  held_.append(bytes);
  size_t first = std::string::npos;
  for (const std::string& stop_text : stop_texts_) {
    const size_t found = held_.find(stop_text);
    if (found < first) {
      first = found;
      stopped_by_ = stop_text;
    }
  }
  if (first != std::string::npos) {
    cut_bytes_ = held_.size() - first;
    held_.resize(first);
    return Finish();
  }
  const size_t safe = held_.size() - PossibleStopBytes();
  const size_t whole = CompleteUtf8Prefix(std::string_view(held_).substr(0, safe));
  std::string text = ToValidUtf8(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
  return text;
}

std::string StopText::Finish() {
  return ToValidUtf8(std::exchange(held_, ""));
}

size_t StopText::PossibleStopBytes() const {
  size_t longest = 0;
  for (const std::string& stop_text : stop_texts_) {
    size_t bytes = std::min(held_.size(), stop_text.size() - 1);
    while (bytes > longest && !held_.ends_with(std::string_view(stop_text).substr(0, bytes))) {
      --bytes;
    }
    longest = std::max(longest, bytes);
  }
  return longest;
}

}  // namespace cairn
