#include "chat/spans/span_cache.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace cairn {
namespace {

uint64_t Folded(uint64_t key, std::string_view text) {
  return HashMix(key, Hash64(text));
}

// keys[i] covers the first i messages and everything that is not a message. A key finds an entry;
// the prompt's bytes decide whether the entry fits.
std::vector<uint64_t> KeysOf(uint64_t client, const ChatTemplate& chat_template,
                             const Conversation& conversation) {
  uint64_t key = Folded(client, chat_template.source());
  key = HashMix(key, conversation.tools.hash());
  key = Folded(key, conversation.template_kwargs_json);
  std::vector<uint64_t> keys = {key};
  for (const Message& message : conversation.messages) {
    key = HashMix(key, static_cast<uint64_t>(message.role));
    for (const std::string* text :
         {&message.content, &message.reasoning, &message.tool_call_id, &message.name}) {
      key = Folded(key, *text);
    }
    key = HashMix(key, message.tool_calls.size());
    for (const ToolCall& call : message.tool_calls) {
      for (const std::string* text : {&call.id, &call.name, &call.arguments}) {
        key = Folded(key, *text);
      }
    }
    keys.push_back(key);
  }
  return keys;
}

// Returns the spans of the earlier prompt whose messages are at the same place in the new one: its
// bytes are the same up to the end of the message's text.
std::vector<TextSpan> StillThere(const std::vector<TextSpan>& spans, std::string_view earlier_text,
                                 const Conversation& conversation, std::string_view text) {
  const auto diverged =
      std::mismatch(text.begin(), text.end(), earlier_text.begin(), earlier_text.end());
  const size_t common = static_cast<size_t>(diverged.first - text.begin());
  std::vector<TextSpan> kept;
  for (const TextSpan& span : spans) {
    const std::string_view shown =
        SpanText(span, conversation.messages[span.message_index], earlier_text);
    // If a text is not shown as written, its end is unknown; it is before the next boundary.
    const size_t end = shown.empty()
                           ? span.end
                           : static_cast<size_t>(shown.data() + shown.size() - earlier_text.data());
    if (end > common) break;
    kept.push_back(span);
  }
  return kept;
}

bool IsWanted(const Message& message) {
  return message.role == Role::kUser || message.role == Role::kTool;
}

}  // namespace

Result<TextShape> SpanCache::Find(const ChatTemplate& chat_template,
                                  const Conversation& conversation, std::string_view text,
                                  uint64_t client) {
  const std::vector<uint64_t> keys = KeysOf(client, chat_template, conversation);
  const EntryPtr earlier = Longest(keys);
  if (earlier != nullptr && earlier->messages == conversation.messages.size() &&
      earlier->text == text) {
    const std::scoped_lock lock(mutex_);
    ++stats_.prompts;
    ++stats_.prompts_known;
    TextShape shape = earlier->shape;
    shape.renders = 0;
    shape.short_renders = 0;
    return shape;
  }
  std::vector<TextSpan> known;
  if (earlier != nullptr) {
    known = StillThere(earlier->shape.spans, earlier->text, conversation, text);
  }
  auto shape = FindTextShape(chat_template, conversation, text, known);
  if (!shape) return shape;
  size_t unknown_before = 0;  // messages that an earlier search did not find
  if (!known.empty()) {
    const auto& messages = conversation.messages;
    const auto last =
        messages.begin() + static_cast<std::ptrdiff_t>(known.back().message_index + 1);
    unknown_before =
        static_cast<size_t>(std::count_if(messages.begin(), last, IsWanted)) - known.size();
  }
  Count(*shape, known, unknown_before);
  Keep(std::make_shared<Entry>(Entry{.key = keys.back(),
                                     .messages = conversation.messages.size(),
                                     .text = std::string(text),
                                     .shape = *shape}),
       earlier);
  return shape;
}

SpanStats SpanCache::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

size_t SpanCache::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

SpanCache::EntryPtr SpanCache::Longest(const std::vector<uint64_t>& keys) {
  const std::scoped_lock lock(mutex_);
  for (size_t messages = keys.size(); messages-- > 0;) {
    const auto found = entries_.find(keys[messages]);
    if (found == entries_.end() || (*found->second)->messages != messages) continue;
    recent_.splice(recent_.begin(), recent_, found->second);
    return *found->second;
  }
  return nullptr;
}

void SpanCache::Keep(EntryPtr entry, const EntryPtr& outgrown) {
  const std::scoped_lock lock(mutex_);
  if (outgrown != nullptr) Drop(outgrown->key);
  Drop(entry->key);
  if (entry->bytes() > bytes_max_) return;
  bytes_ += entry->bytes();
  recent_.push_front(std::move(entry));
  entries_[recent_.front()->key] = recent_.begin();
  while (bytes_ > bytes_max_) Drop(recent_.back()->key);
}

void SpanCache::Drop(uint64_t key) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  bytes_ -= (*found->second)->bytes();
  recent_.erase(found->second);
  entries_.erase(found);
}

void SpanCache::Count(const TextShape& shape, const std::vector<TextSpan>& known,
                      size_t unknown_before) {
  const std::scoped_lock lock(mutex_);
  ++stats_.prompts;
  if (!known.empty()) ++stats_.prompts_extended;
  for (size_t i = known.size(); i < shape.spans.size(); ++i) {
    ++(shape.spans[i].earlier ? stats_.boundaries_earlier : stats_.boundaries_exact);
  }
  stats_.boundaries_unknown +=
      shape.unknown_boundaries - std::min(shape.unknown_boundaries, unknown_before);
  stats_.renders += shape.renders;
  stats_.short_renders += shape.short_renders;
}

}  // namespace cairn
