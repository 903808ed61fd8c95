#include "chat/spans/message_ranges.h"

#include <algorithm>
#include <cstddef>

#include "base/white_space.h"

namespace cairn {
namespace {

constexpr size_t kSearchedBytesMax = size_t{64} << 20;

class RangeFinder {
 public:
  RangeFinder(const std::vector<Message>& messages, const TextShape& shape, std::string_view text)
      : messages_(messages), shape_(shape), text_(text), places_(messages.size()) {
    for (const TextSpan& span : shape.spans) {
      places_[span.message_index] = {.begin = span.begin, .text_end = TextEnd(span)};
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
    std::optional<size_t> text_end;  // of user and tool messages that are shown as written
  };

  // Includes trailing white space of the text, as far as the template printed it.
  std::optional<size_t> TextEnd(const TextSpan& span) const {
    const std::string_view content = messages_[span.message_index].content;
    if (span.earlier) return std::nullopt;
    if (Trimmed(content).empty()) return span.begin;
    const std::string_view shown = SpanText(span, messages_[span.message_index], text_);
    if (shown.empty()) return std::nullopt;
    size_t end = static_cast<size_t>(shown.data() + shown.size() - text_.data());
    const std::string_view rest = content.substr(content.find_last_not_of(kWhiteSpace) + 1);
    for (size_t i = 0; i < rest.size() && end < span.end && text_[end] == rest[i]; ++i) ++end;
    return end;
  }

  // Returns the begin of a message that is neither a user's nor a tool's; nullopt if not known.
  std::optional<size_t> BeginOf(size_t index) {
    const Role role = messages_[index].role;
    if (role == Role::kUser || role == Role::kTool) return std::nullopt;
    const std::optional<size_t> begin =
        index == 0 ? std::optional<size_t>(0) : places_[index - 1].text_end;
    if (!begin) return ByText(index);
    // Some templates write system text elsewhere, for example into the last message.
    const bool may_move = role == Role::kSystem || role == Role::kDeveloper;
    const std::string_view here = text_.substr(*begin, NextBegin(index) - *begin);
    if (may_move && here.find(Trimmed(messages_[index].content)) == std::string_view::npos) {
      return std::nullopt;
    }
    return begin;
  }

  size_t NextBegin(size_t index) const {
    for (size_t i = index + 1; i < places_.size(); ++i) {
      if (places_[i].begin) return *places_[i].begin;
    }
    return shape_.last_message_end;
  }

  // Returns the begin of a message after another of its kind, found by its text, if that occurs
  // exactly once between the known places around it. Where no place is known, each message would be
  // searched for in the whole prompt, so the searches end.
  std::optional<size_t> ByText(size_t index) {
    size_t from = 0;
    for (size_t i = 0; i < index; ++i) {
      if (places_[i].begin) from = *places_[i].begin;
    }
    const size_t to = NextBegin(index);
    if (from >= to || to - from > searched_bytes_left_) return std::nullopt;
    searched_bytes_left_ -= to - from;
    const std::string_view between = text_.substr(from, to - from);
    for (const std::string_view text :
         {Trimmed(messages_[index].reasoning), Trimmed(messages_[index].content)}) {
      const size_t found = text.empty() ? std::string_view::npos : between.find(text);
      if (found == std::string_view::npos) continue;
      if (between.find(text, found + 1) != std::string_view::npos) return std::nullopt;
      return from + found;
    }
    return std::nullopt;
  }

  const std::vector<Message>& messages_;
  const TextShape& shape_;
  const std::string_view text_;
  std::vector<Place> places_;
  size_t searched_bytes_left_ = kSearchedBytesMax;
};

}  // namespace

std::vector<std::optional<TextRange>> FindMessageRanges(const std::vector<Message>& messages,
                                                        const TextShape& shape,
                                                        std::string_view text) {
  return RangeFinder(messages, shape, text).Find();
}

}  // namespace cairn
