#include "chat/spans/spans.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/utf8.h"
#include "base/white_space.h"

namespace cairn {
namespace {

bool BeginsSpan(const Message& message) {
  return message.role == Role::kUser || message.role == Role::kTool;
}

// A message's place is that of its first visible byte.
size_t LeadingSpace(std::string_view content) {
  return std::min(content.find_first_not_of(kWhiteSpace), content.size());
}

bool OccursOnce(std::string_view text, std::string_view wanted) {
  const size_t first = text.find(wanted);
  return first != std::string_view::npos && text.find(wanted, first + 1) == std::string_view::npos;
}

// Marks consist of letters and digits, which templates neither trim nor escape. They contain the
// hash of the prompt, so that a client cannot write one into a message in advance.
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

  // Inserts the mark before the message's text.
  void Put(size_t index, Message* message) const {
    message->content.insert(LeadingSpace(message->content), Of(index));
  }

  struct TakenOut {
    std::vector<size_t> places;  // places of the marks in the rendering without them
    size_t bytes = 0;            // size of that rendering
  };

  // Removes the marks of `indices` from `rendered`, where each must occur once, in order. Without
  // them it must be a prefix of `reference`.
  std::optional<TakenOut> TakeOut(std::string_view rendered, const std::vector<size_t>& indices,
                                  std::string_view reference) const {
    TakenOut out;
    const auto same = [&](std::string_view piece) {
      if (reference.substr(std::min(out.bytes, reference.size()), piece.size()) != piece) {
        return false;
      }
      out.bytes += piece.size();
      return true;
    };
    for (const size_t index : indices) {
      const std::string mark = Of(index);
      const size_t place = rendered.find(stem_);
      if (place == std::string_view::npos || rendered.substr(place, mark.size()) != mark ||
          !same(rendered.substr(0, place))) {
        return std::nullopt;
      }
      out.places.push_back(out.bytes);
      rendered.remove_prefix(place + mark.size());
    }
    if (!same(rendered)) return std::nullopt;
    return out;
  }

 private:
  std::string stem_;
};

class ShapeFinder {
 public:
  ShapeFinder(const ChatTemplate& chat_template, const Conversation& conversation,
              std::string_view text)
      : template_(chat_template), conversation_(conversation), text_(text), marks_(text) {}

  Result<TextShape> Find(const std::vector<TextSpan>& known) {
    shape_.spans = known;
    for (size_t i = 0; i < conversation_.messages.size(); ++i) {
      if (!BeginsSpan(conversation_.messages[i])) continue;
      if (known.empty() || i > known.back().message_index) wanted_.push_back(i);
    }
    if (text_.find(marks_.stem()) != std::string_view::npos) wanted_.clear();
    if (!FindFromAnchor(false) && !FindFromAnchor(true) && !FindAllAtOnce()) {
      const Result<void> found = FindSeparately();
      if (!found) return tl::unexpected(found.error());
    }
    return Finished();
  }

 private:
  // --- Marks ------------------------------------------------------------------------------------

  // Renders only from the last known message on. If the text after its mark is a continuation of
  // the prompt there, the places of the marks after it are known too. Some templates write system
  // text and tools there: then the system prefix is rendered too.
  bool FindFromAnchor(bool with_header) {
    if (shape_.spans.empty() || shape_.spans.back().earlier) return false;
    const TextSpan anchor = shape_.spans.back();
    const size_t place = SpanTextBegin(anchor);
    if (place == std::string_view::npos) return false;
    const Conversation end = EndOfConversation(anchor.message_index, with_header);
    const Result<std::string> rendered = template_.Render(end, false);
    ++shape_.short_renders;
    if (!rendered) return false;
    const std::string mark = marks_.Of(anchor.message_index);
    const size_t found = rendered->find(mark);
    if (found == std::string::npos) return false;
    const std::string_view after = std::string_view(*rendered).substr(found + mark.size());
    const auto out = marks_.TakeOut(after, wanted_, text_.substr(place));
    if (!out) return false;
    for (size_t i = 0; i < wanted_.size(); ++i) Add(wanted_[i], place + out->places[i]);
    messages_end_ = place + out->bytes;
    return true;
  }

  // Returns the messages from the anchor on, marked, with as many before it as a template needs to
  // show it: a tool's answer needs its call, and a call needs a query.
  Conversation EndOfConversation(size_t anchor, bool with_header) const {
    const auto& messages = conversation_.messages;
    Conversation end = {.messages = {},
                        .template_kwargs_json = conversation_.template_kwargs_json,
                        .now_unix_s = conversation_.now_unix_s};
    if (with_header) {
      end.tools = conversation_.tools;
      for (const Message& message : messages) {
        if (message.role != Role::kSystem && message.role != Role::kDeveloper) break;
        end.messages.push_back(message);
      }
    }
    size_t first = anchor;
    while (first > 0 && messages[first].role == Role::kTool) --first;
    for (size_t i = first; first != anchor && i-- > 0;) {
      if (messages[i].role != Role::kUser) continue;
      end.messages.push_back(messages[i]);
      break;
    }
    for (size_t i = first; i < messages.size(); ++i) {
      end.messages.push_back(messages[i]);
      if (i >= anchor && BeginsSpan(messages[i])) marks_.Put(i, &end.messages.back());
    }
    return end;
  }

  size_t SpanTextBegin(const TextSpan& span) const {
    const auto shown = SpanText(span, conversation_.messages[span.message_index], text_);
    return shown.empty() ? std::string_view::npos
                         : static_cast<size_t>(shown.data() - text_.data());
  }

  // Finds the begin and end of all messages with one rendering without the generation prompt.
  bool FindAllAtOnce() {
    const auto out = Marked(wanted_, false, text_);
    if (!out) return false;
    for (size_t i = 0; i < wanted_.size(); ++i) Add(wanted_[i], out->places[i]);
    messages_end_ = out->bytes;
    return true;
  }

  std::optional<Marks::TakenOut> Marked(const std::vector<size_t>& indices,
                                        bool add_generation_prompt, std::string_view reference) {
    Conversation marked = conversation_;
    for (const size_t index : indices) marks_.Put(index, &marked.messages[index]);
    const Result<std::string> rendered = template_.Render(marked, add_generation_prompt);
    ++shape_.renders;
    if (!rendered) return std::nullopt;
    return marks_.TakeOut(*rendered, indices, reference);
  }

  Result<void> FindSeparately() {
    const Result<std::string> bare = template_.Render(conversation_, false);
    ++shape_.renders;
    if (!bare) return tl::unexpected(bare.error());
    if (text_.starts_with(*bare)) {
      messages_end_ = bare->size();
      reference_ = text_.substr(0, bare->size());
    } else {
      common_with_bare_ = CommonCharacterBytes(text_, *bare);
      with_generation_prompt_ = true;
      reference_ = text_;
    }
    std::vector<size_t> unmarkable;
    if (!wanted_.empty()) MarkByHalves(wanted_, !with_generation_prompt_, &unmarkable);
    SortAndDropDisorder();
    for (const size_t index : unmarkable) FindUnmarkable(index);
    SortAndDropDisorder();
    return {};
  }

  // Newest first, because the number of renderings is limited. `failed`: marking all of them is
  // known to fail.
  void MarkByHalves(const std::vector<size_t>& indices, bool failed,
                    std::vector<size_t>* unmarkable) {
    if (!failed) {
      if (shape_.renders >= kRendersMax) return;
      const auto out = Marked(indices, with_generation_prompt_, reference_);
      if (out && out->bytes == reference_.size()) {
        for (size_t i = 0; i < indices.size(); ++i) Add(indices[i], out->places[i]);
        return;
      }
    }
    if (indices.size() == 1) {
      unmarkable->push_back(indices.front());
      return;
    }
    const auto middle = indices.begin() + static_cast<std::ptrdiff_t>(indices.size() / 2);
    MarkByHalves({middle, indices.end()}, false, unmarkable);
    MarkByHalves({indices.begin(), middle}, false, unmarkable);
  }

  // --- Messages that cannot bear a mark ---------------------------------------------------------

  void FindUnmarkable(size_t index) {
    if (shape_.renders + 3 > kRendersMax) return;
    const std::optional<std::string> before = BeforeMessage(index);
    if (before && FindByMiddle(index, before->size())) return;
    FindAsLastMessage(index, before);
  }

  // Returns the rendering of the messages before it, if the prompt begins with that.
  std::optional<std::string> BeforeMessage(size_t index) {
    if (index == 0) return std::nullopt;
    Conversation beginning = conversation_;
    beginning.messages.resize(index);
    const Result<std::string> rendered = template_.Render(beginning, false);
    ++shape_.renders;
    if (!rendered || !text_.starts_with(*rendered)) return std::nullopt;
    return *rendered;
  }

  // A template that inspects the beginning and end of a text may tolerate a mark in its middle. If
  // the text before the mark is not as the client wrote it, the boundary is `before`, where the
  // rendering of the messages before it ends.
  bool FindByMiddle(size_t index, size_t before) {
    const std::string& content = conversation_.messages[index].content;
    const size_t front = LeadingSpace(content);
    size_t middle = front + Trimmed(content).size() / 2;
    while (middle > front && IsContinuationByte(content[middle])) {
      --middle;
    }
    if (middle == front) return false;
    Conversation marked = conversation_;
    marked.messages[index].content.insert(middle, marks_.Of(index));
    const Result<std::string> rendered = template_.Render(marked, with_generation_prompt_);
    ++shape_.renders;
    if (!rendered) return false;
    const auto out = marks_.TakeOut(*rendered, {index}, reference_);
    if (!out || out->bytes != reference_.size() || out->places[0] < before) return false;
    const size_t place = out->places[0];
    const std::string_view first_half = std::string_view(content).substr(front, middle - front);
    if (text_.substr(before, place - before).ends_with(first_half)) {
      Add(index, place - first_half.size());
    } else {
      Add(index, before);
      shape_.spans.back().earlier = true;
    }
    return DropIfMisplaced();
  }

  // Rendered as the last message, with a mark for its text, it reveals where the template puts the
  // text.
  void FindAsLastMessage(size_t index, const std::optional<std::string>& before) {
    Conversation beginning = conversation_;
    beginning.messages.resize(index + 1);
    beginning.messages.back().content = marks_.Of(index);
    const Result<std::string> rendered = template_.Render(beginning, false);
    ++shape_.renders;
    if (!rendered) return;
    const size_t place = rendered->find(marks_.stem());
    if (place == std::string::npos) return;
    const std::string_view front = std::string_view(*rendered).substr(0, place);
    if (text_.starts_with(front) && ShowsHere(index, place)) {
      Add(index, place);
    } else if (before && front.starts_with(*before)) {
      Add(index, before->size());
      shape_.spans.back().earlier = true;
    } else {
      return;
    }
    DropIfMisplaced();
  }

  // Whether the message is here and nowhere else, or has no visible text.
  bool ShowsHere(size_t index, size_t place) const {
    const std::string_view visible = Trimmed(conversation_.messages[index].content);
    return visible.empty() ||
           (text_.substr(place).starts_with(visible) && OccursOnce(text_, visible));
  }

  // Whether `place` is after the texts of the spans before message `index` and not after the begin
  // of those behind it.
  bool FitsBetween(size_t index, size_t place) const {
    return std::all_of(shape_.spans.begin(), shape_.spans.end(), [&](const TextSpan& span) {
      if (span.message_index > index) return place <= span.begin;
      if (span.message_index == index) return true;
      const size_t begin = SpanTextBegin(span);
      if (begin == std::string_view::npos) return span.begin <= place;
      return begin + Trimmed(conversation_.messages[span.message_index].content).size() <= place;
    });
  }

  // Removes the span just added, and returns false, if it is not between its neighbours.
  bool DropIfMisplaced() {
    const TextSpan added = shape_.spans.back();
    if (FitsBetween(added.message_index, added.begin)) return true;
    shape_.spans.pop_back();
    return false;
  }

  // --- The shape --------------------------------------------------------------------------------

  // `place` is that of the message's first visible byte.
  void Add(size_t index, size_t place) {
    const Message& message = conversation_.messages[index];
    shape_.spans.push_back({.begin = BeforeLeadingSpace(message.content, place),
                            .role = message.role,
                            .message_index = index});
  }

  // A mark is after its message's leading white space, which the template may have printed.
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
      if (kept == 0 || span.begin >= spans[kept - 1].begin) spans[kept++] = span;
    }
    spans.resize(kept);
  }

  TextShape Finished() {
    shape_.last_message_end = LastMessageEnd();
    size_t wanted = 0;
    for (const Message& message : conversation_.messages) wanted += BeginsSpan(message) ? 1 : 0;
    shape_.unknown_boundaries = wanted - shape_.spans.size();
    for (size_t i = 0; i < shape_.spans.size(); ++i) {
      const bool last = i + 1 == shape_.spans.size();
      shape_.spans[i].end = last ? shape_.last_message_end : shape_.spans[i + 1].begin;
    }
    FindHeader();
    return std::move(shape_);
  }

  size_t LastMessageEnd() const {
    if (messages_end_) return *messages_end_;
    // A template may write its last message differently if an answer is to follow. Then the end is
    // where the two renderings diverge, unless that is inside the message.
    if (shape_.spans.empty()) return common_with_bare_;
    const TextSpan& last = shape_.spans.back();
    const size_t begin = SpanTextBegin(last);
    const size_t end =
        begin == std::string_view::npos
            ? last.begin
            : begin + Trimmed(conversation_.messages[last.message_index].content).size();
    return common_with_bare_ >= end ? common_with_bare_ : last.begin;
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
  std::vector<size_t> wanted_;  // messages to search for
  // The text that a marked rendering must be without its marks, and how it is rendered.
  std::string_view reference_;
  bool with_generation_prompt_ = false;
  std::optional<size_t> messages_end_;
  size_t common_with_bare_ = 0;  // used if messages_end_ is not known
  TextShape shape_;
};

}  // namespace

Result<TextShape> FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                                std::string_view text, const std::vector<TextSpan>& known) {
  return ShapeFinder(chat_template, conversation, text).Find(known);
}

std::string_view SpanText(const TextSpan& span, const Message& message, std::string_view text) {
  const std::string_view visible = Trimmed(message.content);
  const size_t begin = text.find_first_not_of(kWhiteSpace, span.begin);
  if (visible.empty() || span.earlier || begin == std::string_view::npos) return {};
  const std::string_view shown = text.substr(begin, visible.size());
  return shown == visible ? shown : std::string_view();
}

}  // namespace cairn
