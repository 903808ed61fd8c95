// RenderedText: what a template wrote for a conversation, with the origin of every byte.
//
//   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n
//   '--- template --''' '------------- template -----------'
//                    content of message 1, from byte 0 on
//
// A message's text may be cut, trimmed, moved into another turn or written twice; its bytes still
// tell which message they are from, and which byte of its field each of them was.

#ifndef CAIRN_CHAT_TEMPLATE_RENDERED_TEXT_H_
#define CAIRN_CHAT_TEMPLATE_RENDERED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value/text.h"

namespace cairn {

inline constexpr size_t kNoMessage = std::numeric_limits<size_t>::max();

// Bytes [begin, end) of a text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;

  friend bool operator==(const TextRange&, const TextRange&) = default;
};

// The part of a conversation that a text is.
enum class TextField : uint8_t {
  kOwn,  // none: the template's, or what this server put around a client's texts
  kContent,
  kReasoning,
  kArguments,  // one text in the arguments of a call, or all of them where they stay JSON text
  kOther,      // a message's role, ids and names
  kTools,
  kKwargs
};

struct TextSource {
  TextField field = TextField::kOwn;
  size_t message = kNoMessage;  // index in the conversation

  // Whether a client or the model said it: templates show that in the order of the messages.
  bool is_said() const {
    return field == TextField::kContent || field == TextField::kReasoning ||
           field == TextField::kArguments;
  }
};

// From byte `begin` on, up to the next piece, a text is that of `source` from `offset` on.
struct TextPiece {
  size_t begin = 0;
  TextSource source = {};
  size_t offset = 0;
};

// Numbers the sources of one rendering.
class TextSources {
 public:
  // All contents and all reasoning of a message are one source, as is all that is ours; any other
  // text has a number of its own.
  int32_t Of(const TextSource& source) {
    const bool shared = source.field <= TextField::kReasoning;
    if (!shared) return Add(source);
    const auto [known, is_new] = numbers_.try_emplace({source.message, source.field}, 0);
    if (is_new) known->second = Add(source);
    return known->second;
  }
  std::vector<TextSource> Take() { return std::move(sources_); }

 private:
  int32_t Add(const TextSource& source) {
    sources_.push_back(source);
    return static_cast<int32_t>(sources_.size() - 1);
  }

  std::vector<TextSource> sources_ = {{}};  // the template's own
  std::map<std::pair<size_t, TextField>, int32_t> numbers_;
};

struct RenderedText {
  std::string text = {};
  // In order; they cover the text. Empty ones say where an empty text stands.
  std::vector<jinja::Run> runs = {};
  std::vector<TextSource> sources = {};  // by Run::source
  // Where the template last asked whether an answer follows, which is where most begin it.
  std::optional<size_t> asked_at = {};

  size_t EndOf(size_t run) const {
    return run + 1 < runs.size() ? runs[run + 1].begin : text.size();
  }
  // Null for bytes that an operation made: quotes around JSON, numbers, the names in an object.
  const TextSource* SourceOf(const jinja::Run& run) const {
    return run.source < 0 ? nullptr : &sources[static_cast<size_t>(run.source)];
  }
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_RENDERED_TEXT_H_
