#include "api/prompt/order/known_json.h"

#include <iterator>

#include "base/hash.h"
#include "base/json.h"
#include "chat/text/canonical.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

// Approximate bytes of an entry in addition to its text.
constexpr size_t kKnownEntryBytes = 256;

// Whether a number may have more digits than a value of JSON keeps, so that two numbers would mean
// the same.
bool MayLoseDigits(std::string_view text) {
  constexpr size_t kIntegerDigits = 18;
  constexpr size_t kDoubleDigits = 15;
  size_t digits = 0;
  bool is_double = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      ++digits;
    } else if (digits > 0 && (c == '.' || c == 'e' || c == 'E')) {
      is_double = true;
    } else {
      digits = 0;
      is_double = false;
    }
    if (digits > (is_double ? kDoubleDigits : kIntegerDigits)) return true;
  }
  return false;
}

// Nullopt if the text is not JSON, or too large.
std::optional<std::string> MeaningOf(std::string_view text) {
  if (MayLoseDigits(text)) return std::nullopt;
  const auto json = ParseLimitedJson(text, "");
  if (!json) return std::nullopt;
  return SortedJsonText(*json);
}

}  // namespace

std::optional<std::string> KnownJson::Respell(NamespaceId name_space, std::string_view kind,
                                              std::string_view text) {
  if (bytes_max_ == 0 || text.size() > kTextBytesMax) return std::nullopt;
  const uint64_t kind_hash = Hash64(kind);
  const Key text_key{name_space, Hash64(text, kind_hash)};
  if (IsKnown(text_key)) return std::nullopt;
  const auto meaning = MeaningOf(text);
  if (!meaning) return std::nullopt;
  const Key meaning_key{name_space, Hash64(*meaning, kind_hash)};
  auto known = FirstOf(meaning_key);
  if (!known) {
    Add(text_key, meaning_key, text);
    return std::nullopt;
  }
  // A hash never decides that two texts mean the same.
  return MeaningOf(*known) == meaning ? std::move(known) : std::nullopt;
}

void KnownJson::Remember(NamespaceId name_space, std::string_view kind, std::string_view text) {
  if (bytes_max_ == 0 || text.size() > kTextBytesMax) return;
  const uint64_t kind_hash = Hash64(kind);
  const Key text_key{name_space, Hash64(text, kind_hash)};
  if (IsKnown(text_key)) return;
  const auto meaning = MeaningOf(text);
  if (meaning) Add(text_key, {name_space, Hash64(*meaning, kind_hash)}, text);
}

size_t KnownJson::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

bool KnownJson::IsKnown(const Key& text_key) {
  const MutexLock lock(mutex_);
  const auto found = by_text_.find(text_key);
  if (found == by_text_.end()) return false;
  Use(found->second);
  return true;
}

std::optional<std::string> KnownJson::FirstOf(const Key& meaning_key) {
  const MutexLock lock(mutex_);
  const auto found = first_by_meaning_.find(meaning_key);
  if (found == first_by_meaning_.end()) return std::nullopt;
  Use(found->second);
  return found->second->text;
}

void KnownJson::Add(const Key& text_key, const Key& meaning_key, std::string_view text) {
  const MutexLock lock(mutex_);
  // Another thread may have added it meanwhile.
  if (by_text_.contains(text_key)) return;
  entries_.push_front({text_key, meaning_key, std::string(text)});
  by_text_.emplace(text_key, entries_.begin());
  first_by_meaning_.emplace(meaning_key, entries_.begin());
  bytes_ += kKnownEntryBytes + text.size();
  while (bytes_ > bytes_max_) {
    const auto last = std::prev(entries_.end());
    by_text_.erase(last->text_key);
    const auto first = first_by_meaning_.find(last->meaning_key);
    if (first != first_by_meaning_.end() && first->second == last) first_by_meaning_.erase(first);
    bytes_ -= kKnownEntryBytes + last->text.size();
    entries_.erase(last);
  }
}

}  // namespace cairn
