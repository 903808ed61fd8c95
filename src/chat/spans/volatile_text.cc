#include "chat/spans/volatile_text.h"

#include <functional>
#include <list>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/mutex.h"
#include "chat/spans/volatile_matcher.h"
#include "chat/spans/volatile_patterns.h"

namespace cairn {
namespace {

// Indices of the message, the pattern and the match.
using Place = std::tuple<size_t, size_t, size_t>;
using Values = std::map<Place, std::string>;

// Approximate overhead of a value in addition to its text.
constexpr size_t kValueBytes = 96;

bool IsClients(const Message& message) {
  return message.role != Role::kAssistant;
}

using NewValue = std::function<std::string(size_t number, std::string match)>;

// Replaces each match in the text by the result of `value`, which gets the match's number. The
// markers at the places of `media` stay as they are; the places move with them.
void ReplaceMatches(const VolatileMatcher& matcher, const NewValue& value, std::string* text,
                    MarkedMedia* media) {
  const std::vector<TextRange> ranges = matcher.Find(*text, *media);
  if (ranges.empty()) return;
  std::vector<std::string> values;
  for (const TextRange& range : ranges) {
    values.push_back(value(values.size(), text->substr(range.begin, range.end - range.begin)));
  }
  ReplaceRanges(ranges, values, text, media);
}

}  // namespace

class VolatileText::Impl {
 public:
  Impl(std::vector<std::string> patterns, std::vector<VolatileMatcher> compiled, size_t bytes_max)
      : patterns_(std::move(patterns)), compiled_(std::move(compiled)), bytes_max_(bytes_max) {}

  const std::vector<std::string>& patterns() const { return patterns_; }

  size_t Pin(uint64_t name_space, Conversation* conversation) {
    const std::string key = KeyOf(name_space, *conversation);
    // Replacing long texts may take time, so the lock is not held meanwhile.
    const Values known = ValuesOf(key);
    Values seen;
    size_t changed = 0;
    for (size_t i = 0; i < conversation->messages.size(); ++i) {
      Message& message = conversation->messages[i];
      if (!IsClients(message)) continue;
      for (size_t p = 0; p < compiled_.size(); ++p) {
        const auto value = [&](size_t number, std::string match) {
          const Place place = {i, p, number};
          const auto first = known.find(place);
          if (first == known.end()) {
            const bool kept = match.size() <= kMatchBytesMax && seen.size() < kMatchesMax;
            if (kept) seen.emplace(place, match);
            return match;
          }
          if (match.size() > kMatchBytesMax || first->second == match) return match;
          ++changed;
          return first->second;
        };
        ReplaceMatches(compiled_[p], value, &message.content, &message.media);
      }
    }
    Remember(key, std::move(seen));
    return changed;
  }

  size_t conversations() const {
    const MutexLock lock(mutex_);
    return list_.size();
  }

 private:
  struct Known {
    std::string key;
    Values values;
    size_t bytes = 0;
  };

  // Covers everything that stays the same when the text matched by the patterns changes.
  std::string KeyOf(uint64_t name_space, const Conversation& conversation) const {
    ListHash begin;
    begin.AddNumber(name_space);
    begin.AddText(conversation.tools.text());
    for (const Message& message : conversation.messages) {
      std::string text = message.content;
      MarkedMedia media = message.media;
      for (size_t p = 0; p < compiled_.size(); ++p) {
        const auto value = [&](size_t, const std::string&) {
          return std::string("\0", 1) + std::to_string(p);
        };
        ReplaceMatches(compiled_[p], value, &text, &media);
      }
      begin.AddNumber(static_cast<uint64_t>(message.role));
      begin.AddText(text);
      if (message.role == Role::kUser) break;
    }
    return begin.Key();
  }

  Values ValuesOf(const std::string& key) {
    const MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return {};
    list_.splice(list_.begin(), list_, found->second);
    return found->second->values;
  }

  void Remember(const std::string& key, Values seen) {
    if (seen.empty()) return;
    const MutexLock lock(mutex_);
    auto found = by_key_.find(key);
    if (found == by_key_.end()) {
      list_.push_front({key, {}, 0});
      found = by_key_.emplace(key, list_.begin()).first;
    }
    Known& known = *found->second;
    for (auto& [place, value] : seen) {
      if (known.values.size() >= kMatchesMax) break;
      const size_t bytes = kValueBytes + value.size();
      // Another request may have been first meanwhile.
      if (!known.values.emplace(place, std::move(value)).second) continue;
      known.bytes += bytes;
      bytes_ += bytes;
    }
    while (bytes_ > bytes_max_ && !list_.empty()) {
      bytes_ -= list_.back().bytes;
      by_key_.erase(list_.back().key);
      list_.pop_back();
    }
  }

  const std::vector<std::string> patterns_;
  const std::vector<VolatileMatcher> compiled_;
  const size_t bytes_max_;
  mutable Mutex mutex_;
  std::list<Known> list_ GUARDED_BY(mutex_);  // last used first
  std::unordered_map<std::string, std::list<Known>::iterator> by_key_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

Result<std::unique_ptr<VolatileText>> VolatileText::Make(std::vector<std::string> patterns,
                                                         size_t bytes_max) {
  patterns = WithBuiltinPatterns(patterns);
  std::vector<VolatileMatcher> compiled;
  for (const std::string& pattern : patterns) {
    auto matcher = VolatileMatcher::Make(pattern);
    if (!matcher) return tl::unexpected(matcher.error());
    compiled.push_back(*std::move(matcher));
  }
  return std::unique_ptr<VolatileText>(new VolatileText(
      std::make_unique<Impl>(std::move(patterns), std::move(compiled), bytes_max)));
}

VolatileText::VolatileText(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
VolatileText::~VolatileText() = default;

const std::vector<std::string>& VolatileText::patterns() const {
  return impl_->patterns();
}

size_t VolatileText::Pin(uint64_t name_space, Conversation* conversation) {
  return impl_->Pin(name_space, conversation);
}

size_t VolatileText::conversations() const {
  return impl_->conversations();
}

}  // namespace cairn
