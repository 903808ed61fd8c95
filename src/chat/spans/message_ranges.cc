#include "chat/spans/message_ranges.h"

#include <algorithm>
#include <cstddef>

namespace cairn {
namespace {

class RangeFinder {
 public:
  RangeFinder(const std::vector<Message>& messages, const TextShape& shape)
      : messages_(messages), shape_(shape), places_(messages.size()) {
    for (const TextSpan& span : shape.spans) {
      Place& place = places_[span.message_index];
      place.begin = span.begin;
      if (!span.earlier) place.text_end = std::max(span.begin, Said(span.message_index).end);
    }
  }

  std::vector<std::optional<TextRange>> Find() {
    for (size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i].begin) places_[i].begin = BeginOf(i);
    }
    std::vector<std::optional<TextRange>> ranges(places_.size());
    std::optional<size_t> next;  // begin of the next known message
    for (size_t i = places_.size(); i-- > 0;) {
      const auto [begin, text_end] = places_[i];
      if (!begin) continue;
      const size_t end = next.value_or(text_end.value_or(shape_.last_message_end));
      ranges[i] = {*begin, std::max(*begin, end)};
      next = begin;
    }
    return ranges;
  }

 private:
  struct Place {
    std::optional<size_t> begin;
    std::optional<size_t> text_end;  // of user and tool messages that are shown
  };

  // Messages that were added after the prompt was rendered said nothing in it.
  TextRange Said(size_t index) const {
    return index < shape_.said.size() ? shape_.said[index] : TextRange();
  }

  // Returns the begin of a message that is neither a user's nor a tool's; nullopt if not known.
  std::optional<size_t> BeginOf(size_t index) const {
    const Role role = messages_[index].role;
    if (role == Role::kUser || role == Role::kTool) return std::nullopt;
    const std::optional<size_t> begin =
        index == 0 ? std::optional<size_t>(0) : places_[index - 1].text_end;
    const TextRange said = Said(index);
    const size_t next = NextBegin(index);
    if (!begin) return BehindItsKind(index, said, next);
    // Some templates write system text elsewhere, for example into the last message.
    const bool may_move = role == Role::kSystem || role == Role::kDeveloper;
    const bool is_here = said.begin == said.end || (said.begin >= *begin && said.end <= next);
    return may_move && !is_here ? std::nullopt : begin;
  }

  size_t NextBegin(size_t index) const {
    for (size_t i = index + 1; i < places_.size(); ++i) {
      if (places_[i].begin) return *places_[i].begin;
    }
    return shape_.last_message_end;
  }

  // A message after another one that is not a user's begins at its text, if that is between the
  // known places around it.
  std::optional<size_t> BehindItsKind(size_t index, const TextRange& said, size_t next) const {
    size_t from = 0;
    for (size_t i = 0; i < index; ++i) {
      if (places_[i].begin) from = *places_[i].begin;
    }
    if (said.begin == said.end || said.begin < from || said.end > next) return std::nullopt;
    return said.begin;
  }

  const std::vector<Message>& messages_;
  const TextShape& shape_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<std::optional<TextRange>> FindMessageRanges(const std::vector<Message>& messages,
                                                        const TextShape& shape) {
  return RangeFinder(messages, shape).Find();
}

}  // namespace cairn
