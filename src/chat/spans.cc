#include "chat/spans.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"

namespace cairn {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\f\v";

bool BeginsSpan(const Message& message) {
  return message.role == Role::kUser || message.role == Role::kTool;
}

size_t CommonPrefixBytes(std::string_view a, std::string_view b) {
  const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  size_t size = static_cast<size_t>(parted.first - a.begin());
  // Not inside a character: a continuation byte right after the cut means that it was cut.
  while (size > 0 && size < a.size() && (static_cast<unsigned char>(a[size]) & 0xC0U) == 0x80U) {
    --size;
  }
  return size;
}

// A message's place: where its first visible byte would stand.
size_t LeadingSpace(std::string_view content) {
  return std::min(content.find_first_not_of(kWhiteSpace), content.size());
}

// Marks are letters and digits, which templates neither trim nor escape. The hash of the prompt is
// in them, so that no one can write one into a message beforehand.
class Marks {
 public:
  explicit Marks(std::string_view text) {
    for (uint64_t hash = Hash64(text); hash != 0; hash >>= 4U) {
      stem_ += static_cast<char>('a' + (hash & 15U));
    }
    stem_.insert(0, "cairnmark");
  }

  const std::string& stem() const { return stem_; }
  std::string Of(size_t index) const { return stem_ + std::to_string(index) + "x"; }

 private:
  std::string stem_;
};

class ShapeFinder {
 public:
  ShapeFinder(const ChatTemplate& chat_template, const Conversation& conversation,
              std::string_view text)
      : template_(chat_template), conversation_(conversation), text_(text), marks_(text) {}

  Result<TextShape> Find() {
    FindBegins();
    const Result<std::string> bare = template_.Render(conversation_, false);
    ++shape_.renders;
    if (!bare) return tl::unexpected(bare.error());
    shape_.last_message_end = CommonPrefixBytes(text_, *bare);
    if (!shape_.spans.empty()) {
      // A template may write its last message differently when an answer is to follow; the
      // boundary before that message is then the last one that is known.
      shape_.last_message_end = std::max(shape_.last_message_end, shape_.spans.back().begin);
    }
    for (size_t i = 0; i < shape_.spans.size(); ++i) {
      const bool last = i + 1 == shape_.spans.size();
      shape_.spans[i].end = last ? shape_.last_message_end : shape_.spans[i + 1].begin;
    }
    FindHeader();
    return std::move(shape_);
  }

 private:
  void FindBegins() {
    std::vector<size_t> wanted;
    for (size_t i = 0; i < conversation_.messages.size(); ++i) {
      if (BeginsSpan(conversation_.messages[i])) wanted.push_back(i);
    }
    if (wanted.empty() || text_.find(marks_.stem()) != std::string_view::npos) {
      shape_.unknown_boundaries = wanted.size();
      return;
    }
    if (MarkAndAdd(wanted)) return;
    if (wanted.size() == 1) {
      shape_.unknown_boundaries = 1;
      return;
    }
    const size_t dropped = KeepFirstUserAndNewest(&wanted);
    for (auto index = wanted.rbegin(); index != wanted.rend(); ++index) {
      if (!MarkAndAdd({*index})) ++shape_.unknown_boundaries;
    }
    shape_.unknown_boundaries += dropped;
    SortAndDropDisorder();
  }

  size_t KeepFirstUserAndNewest(std::vector<size_t>* wanted) const {
    const size_t before = wanted->size();
    if (before <= kMarkedAloneMax + 1) return 0;
    const auto first_user = std::find_if(wanted->begin(), wanted->end(), [this](size_t index) {
      return conversation_.messages[index].role == Role::kUser;
    });
    const auto newest = wanted->end() - kMarkedAloneMax;
    std::vector<size_t> kept;
    if (first_user < newest) kept.push_back(*first_user);
    kept.insert(kept.end(), newest, wanted->end());
    *wanted = std::move(kept);
    return before - wanted->size();
  }

  // Renders with a mark in front of each of `indices` and adds their spans; false and nothing
  // added when the prompt is then not the same prompt with marks in it.
  bool MarkAndAdd(const std::vector<size_t>& indices) {
    Conversation marked = conversation_;
    for (const size_t index : indices) {
      std::string& content = marked.messages[index].content;
      content.insert(LeadingSpace(content), marks_.Of(index));
    }
    const Result<std::string> rendered = template_.Render(marked, true);
    ++shape_.renders;
    if (!rendered) return false;
    const std::optional<std::vector<size_t>> begins = TakeOut(*rendered, indices);
    if (!begins) return false;
    for (size_t i = 0; i < indices.size(); ++i) {
      const Message& message = conversation_.messages[indices[i]];
      shape_.spans.push_back({.begin = BeforeLeadingSpace(message.content, (*begins)[i]),
                              .role = message.role,
                              .message_index = indices[i]});
    }
    return true;
  }

  // The offsets in `text_` of the marks in `rendered`, which must be there once each, in order,
  // with `text_` around them.
  std::optional<std::vector<size_t>> TakeOut(std::string_view rendered,
                                             const std::vector<size_t>& indices) const {
    std::vector<size_t> begins;
    size_t at = 0;  // in text_
    for (const size_t index : indices) {
      const std::string mark = marks_.Of(index);
      const size_t place = rendered.find(marks_.stem());
      if (place == std::string_view::npos || rendered.substr(place, mark.size()) != mark ||
          rendered.substr(0, place) != text_.substr(at, place)) {
        return std::nullopt;
      }
      at += place;
      begins.push_back(at);
      rendered.remove_prefix(place + mark.size());
    }
    if (rendered != text_.substr(at)) return std::nullopt;
    return begins;
  }

  // A mark stands after its message's leading white space, which the template may have printed.
  size_t BeforeLeadingSpace(std::string_view content, size_t begin) const {
    for (size_t left = LeadingSpace(content); left > 0 && begin > 0; --left, --begin) {
      if (text_[begin - 1] != content[left - 1]) break;
    }
    return begin;
  }

  void SortAndDropDisorder() {
    std::vector<TextSpan>& spans = shape_.spans;
    std::sort(spans.begin(), spans.end(), [](const TextSpan& a, const TextSpan& b) {
      return a.message_index < b.message_index;
    });
    size_t kept = 0;
    for (const TextSpan& span : spans) {
      if (kept > 0 && span.begin < spans[kept - 1].begin) {
        ++shape_.unknown_boundaries;
      } else {
        spans[kept++] = span;
      }
    }
    spans.resize(kept);
  }

  void FindHeader() {
    const auto& messages = conversation_.messages;
    const auto first_user =
        std::find_if(messages.begin(), messages.end(),
                     [](const Message& message) { return message.role == Role::kUser; });
    if (first_user == messages.end()) return;
    const size_t index = static_cast<size_t>(first_user - messages.begin());
    for (const TextSpan& span : shape_.spans) {
      if (span.message_index == index) shape_.header_end = span.begin;
    }
  }

  const ChatTemplate& template_;
  const Conversation& conversation_;
  const std::string_view text_;
  const Marks marks_;
  TextShape shape_;
};

}  // namespace

Result<TextShape> FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                                std::string_view text) {
  return ShapeFinder(chat_template, conversation, text).Find();
}

}  // namespace cairn
