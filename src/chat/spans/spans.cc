#include "chat/spans/spans.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/utf8.h"

namespace cairn {
namespace {

bool BeginsSpan(const Message& message) {
  return message.role == Role::kUser || message.role == Role::kTool;
}

// A template may show it anywhere.
bool StandsAnywhere(const Message& message) {
  return message.role == Role::kSystem || message.role == Role::kDeveloper;
}

// The beginning of a message, as far as the runs of a text tell it.
struct Beginning {
  // The first byte of its content, and which byte of the content that is.
  std::optional<size_t> begin;
  size_t offset = 0;
  bool is_empty = true;   // only an empty text is there
  bool is_twice = false;  // that byte is there again
};

class ShapeReader {
 public:
  ShapeReader(const ChatTemplate& chat_template, const Conversation& conversation,
              const RenderedText& rendered)
      : template_(chat_template),
        conversation_(conversation),
        messages_(conversation.messages),
        rendered_(rendered),
        shown_(messages_.size()) {
    shape_.said.resize(messages_.size());
  }

  TextShape Read() {
    for (size_t i = 0; i < rendered_.runs.size(); ++i) ReadRun(i);
    FindSpans();
    shape_.last_message_end = LastMessageEnd();
    for (size_t i = 0; i < shape_.spans.size(); ++i) {
      const bool last = i + 1 == shape_.spans.size();
      shape_.spans[i].end = last ? shape_.last_message_end : shape_.spans[i + 1].begin;
    }
    FindHeader();
    return std::move(shape_);
  }

 private:
  void ReadRun(size_t index) {
    const jinja::Run& run = rendered_.runs[index];
    const TextSource* const source = rendered_.SourceOf(run);
    if (source == nullptr || !source->is_said() || source->message >= messages_.size()) return;
    const size_t end = rendered_.EndOf(index);
    if (run.begin < end) {
      TextRange& said = shape_.said[source->message];
      if (said.begin == said.end) said.begin = run.begin;
      said.end = end;
      said_end_ = std::max(said_end_, end);
    }
    if (source->field == TextField::kContent) ReadContent(run, end, &shown_[source->message]);
  }

  static void ReadContent(const jinja::Run& run, size_t end, Beginning* shown) {
    const size_t bytes = end - run.begin;
    if (!shown->begin || (shown->is_empty && bytes > 0)) {
      *shown = {.begin = run.begin, .offset = run.offset, .is_empty = bytes == 0};
      return;
    }
    if (shown->is_empty) {
      shown->is_twice = shown->is_twice || *shown->begin != run.begin;
    } else if (run.offset <= shown->offset && shown->offset < run.offset + bytes) {
      shown->is_twice = true;
    }
  }

  // A boundary must be behind all that was said before it, and in front of all that follows. Of
  // calls only the first byte counts: some templates write each of them before its own result, or
  // the text beside them behind the results.
  void FindSpans() {
    std::vector<size_t> latest(messages_.size() + 1, rendered_.text.size());
    for (size_t i = messages_.size(); i-- > 0;) {
      const TextRange& said = shape_.said[i];
      const bool counts = said.begin < said.end && !StandsAnywhere(messages_[i]);
      latest[i] = counts ? std::min(latest[i + 1], said.begin) : latest[i + 1];
    }
    size_t earliest = 0;
    size_t said_end = 0;
    for (size_t i = 0; i < messages_.size(); ++i) {
      if (BeginsSpan(messages_[i])) AddSpan(i, earliest, said_end, latest[i]);
      if (StandsAnywhere(messages_[i])) continue;
      const TextRange& said = shape_.said[i];
      earliest = std::max(earliest, messages_[i].tool_calls.empty() ? said.end : said.begin);
      said_end = std::max(said_end, said.end);
    }
  }

  void AddSpan(size_t index, size_t earliest, size_t said_end, size_t latest) {
    const Beginning& shown = shown_[index];
    TextSpan span = {.role = messages_[index].role, .message_index = index};
    const size_t before = shape_.spans.empty() ? 0 : shape_.spans.back().begin;
    if (shown.begin && !shown.is_twice && *shown.begin >= std::max(earliest, before) &&
        *shown.begin <= latest) {
      span.begin = *shown.begin;
    } else if (said_end > 0 && said_end <= latest) {
      span.begin = std::max(said_end, before);
      span.earlier = true;
    } else {
      ++shape_.unknown_boundaries;
      return;
    }
    shape_.spans.push_back(span);
  }

  // Most templates ask whether an answer follows when all messages are written. What is said behind
  // that place shows that this one asks earlier: then the end is where the text and that without
  // an answer to follow part.
  size_t LastMessageEnd() {
    const size_t least = std::max(said_end_, shape_.spans.empty() ? 0 : shape_.spans.back().begin);
    if (rendered_.asked_at && *rendered_.asked_at >= least) return *rendered_.asked_at;
    const Result<std::string> bare = template_.Render(conversation_, false);
    ++shape_.renders;
    if (!bare) return least;
    // Some templates write the last message otherwise if an answer is to follow.
    const size_t common = CommonCharacterBytes(rendered_.text, *bare);
    if (shape_.spans.empty()) return common;
    const TextSpan& last = shape_.spans.back();
    return common >= std::max(last.begin, shape_.said[last.message_index].end) ? common
                                                                               : last.begin;
  }

  void FindHeader() {
    for (const TextSpan& span : shape_.spans) {
      if (span.role != Role::kUser) continue;
      const auto first =
          std::find_if(messages_.begin(), messages_.end(),
                       [](const Message& message) { return message.role == Role::kUser; });
      const auto index = static_cast<size_t>(first - messages_.begin());
      if (span.message_index == index) shape_.header_end = span.begin;
      return;
    }
  }

  const ChatTemplate& template_;
  const Conversation& conversation_;
  const std::vector<Message>& messages_;
  const RenderedText& rendered_;
  std::vector<Beginning> shown_;
  size_t said_end_ = 0;  // of all messages
  TextShape shape_;
};

}  // namespace

TextShape FindTextShape(const ChatTemplate& chat_template, const Conversation& conversation,
                        const RenderedText& rendered) {
  return ShapeReader(chat_template, conversation, rendered).Read();
}

void SpanCounter::Count(const TextShape& shape) {
  size_t earlier = 0;
  for (const TextSpan& span : shape.spans) earlier += span.earlier ? 1 : 0;
  ++prompts_;
  exact_ += shape.spans.size() - earlier;
  earlier_ += earlier;
  unknown_ += shape.unknown_boundaries;
  renders_ += shape.renders;
}

SpanStats SpanCounter::stats() const {
  return {.prompts = prompts_,
          .boundaries_exact = exact_,
          .boundaries_earlier = earlier_,
          .boundaries_unknown = unknown_,
          .renders = renders_};
}

}  // namespace cairn
