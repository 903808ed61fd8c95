#include "chat/spans/mark_places.h"

#include <algorithm>
#include <map>

namespace cairn {
namespace {

class PlaceFinder {
 public:
  PlaceFinder(const ChatTemplate& chat_template, const Conversation& conversation,
              const PromptText& prompt)
      : template_(chat_template), conversation_(conversation), prompt_(prompt) {}

  std::vector<MarkPlace> Find() {
    for (const CacheMark& mark : conversation_.tools_marks) Add(prompt_.shape.header_end, mark);
    const auto& messages = conversation_.messages;
    for (size_t i = 0; i < messages.size(); ++i) {
      for (const CacheMark& mark : messages[i].marks) Add(mark.inside ? Begin(i) : End(i), mark);
    }
    std::vector<MarkPlace> places;
    for (const auto& [offset, ttl_s] : ttls_) places.push_back({offset, ttl_s});
    return places;
  }

 private:
  // If two marks are at one place, the one with the longer lifetime counts.
  void Add(size_t offset, const CacheMark& mark) {
    if (offset == 0) return;
    int64_t& ttl_s = ttls_[offset];
    ttl_s = std::max(ttl_s, mark.ttl_s);
  }

  // Returns the last known boundary at or before message `index`.
  size_t Begin(size_t index) const {
    size_t begin = 0;
    for (const TextSpan& span : prompt_.shape.spans) {
      if (span.message_index <= index) begin = span.begin;
    }
    return begin;
  }

  size_t End(size_t index) const {
    if (index + 1 == conversation_.messages.size()) return prompt_.shape.last_message_end;
    for (const TextSpan& span : prompt_.shape.spans) {
      if (span.message_index == index + 1) return span.begin;
    }
    return std::max(EndWhenAlone(index), Begin(index));
  }

  // Returns 0 if the messages up to `index` render differently alone than in the prompt.
  size_t EndWhenAlone(size_t index) const {
    Conversation front = conversation_;
    front.messages.resize(index + 1);
    const Result<std::string> text = template_.Render(front, false);
    return text && prompt_.text.starts_with(*text) ? text->size() : 0;
  }

  const ChatTemplate& template_;
  const Conversation& conversation_;
  const PromptText& prompt_;
  std::map<size_t, int64_t> ttls_;  // by offset
};

}  // namespace

std::vector<MarkPlace> FindMarkPlaces(const ChatTemplate& chat_template,
                                      const Conversation& conversation, const PromptText& prompt) {
  return PlaceFinder(chat_template, conversation, prompt).Find();
}

}  // namespace cairn
