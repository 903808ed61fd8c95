#include "api/prompt/answer_tokens.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace cairn {
namespace {

// Approximate bytes of an entry in addition to its text and tokens.
constexpr size_t kTokenEntryBytes = 256;

// Computes the keys of a prompt's prefixes, from short to long, in one pass over the text.
class PrefixKeys {
 public:
  explicit PrefixKeys(const PromptText& prompt) : prompt_(prompt) {}

  PromptKey KeyAt(size_t bytes) {
    const std::string_view text = prompt_.text;
    while (block_ + kBlock <= bytes) {
      hash_ = Hash64(text.substr(block_, kBlock), hash_);
      block_ += kBlock;
    }
    // A client's literal text makes another prompt than the same text from the template.
    for (; literal_ < prompt_.literals.size() && prompt_.literals[literal_].begin < bytes;
         ++literal_) {
      literals_hash_ = HashMix(literals_hash_, prompt_.literals[literal_].begin);
    }
    const uint64_t hash = Hash64(text.substr(block_, bytes - block_), hash_);
    return {bytes, HashMix(hash, literals_hash_)};
  }

 private:
  static constexpr size_t kBlock = 256;

  const PromptText& prompt_;
  size_t block_ = 0;
  size_t literal_ = 0;
  uint64_t hash_ = 0;
  uint64_t literals_hash_ = 0;
};

// Returns how many of the answer's tokens `text` begins with: all, except for trailing white space,
// or none.
size_t TokensAtFront(const GeneratedAnswer& answer, std::string_view text) {
  const auto diverged =
      std::mismatch(answer.text.begin(), answer.text.end(), text.begin(), text.end());
  const auto common = static_cast<size_t>(diverged.first - answer.text.begin());
  if (answer.text.find_first_not_of(kWhiteSpace, common) != std::string::npos) return 0;
  const auto beyond = std::upper_bound(answer.ends.begin(), answer.ends.end(), common);
  return static_cast<size_t>(beyond - answer.ends.begin());
}

}  // namespace

GeneratedAnswer MakeGeneratedAnswer(const Engine& engine, TokenSpan tokens,
                                    std::string_view stop_text) {
  GeneratedAnswer answer;
  for (const Token token : tokens) {
    answer.tokens.push_back(token);
    answer.text += engine.Piece(token, true);
    answer.ends.push_back(answer.text.size());
  }
  const size_t sent = stop_text.empty() ? std::string::npos : answer.text.rfind(stop_text);
  if (sent == std::string::npos) return answer;
  while (!answer.ends.empty() && answer.ends.back() > sent) {
    answer.ends.pop_back();
    answer.tokens.pop_back();
  }
  answer.text.resize(answer.ends.empty() ? 0 : answer.ends.back());
  return answer;
}

PromptKey KeyOf(const PromptText& prompt) {
  return PrefixKeys(prompt).KeyAt(prompt.text.size());
}

void AnswerTokens::Remember(NamespaceId name_space, const PromptKey& prompt,
                            GeneratedAnswer answer) {
  if (answer.text.empty()) return;
  const size_t bytes = kTokenEntryBytes + answer.text.size() +
                       answer.tokens.size() * sizeof(Token) + answer.ends.size() * sizeof(size_t);
  const Place place{name_space, prompt.bytes};
  const MutexLock lock(mutex_);
  const auto [first, last] = by_place_.equal_range(place);
  const auto known = std::find_if(first, last, [&](const auto& candidate) {
    const Entry& entry = *candidate.second;
    return entry.prompt.hash == prompt.hash && entry.answer.text == answer.text;
  });
  // The slot holds the tokens of the latest answer with this text.
  if (known != last) Forget(known->second);
  if (bytes > bytes_max_) return;
  entries_.push_front({name_space, prompt, std::move(answer), bytes});
  by_place_.emplace(place, entries_.begin());
  bytes_ += bytes;
  while (bytes_ > bytes_max_) Forget(std::prev(entries_.end()));
}

std::vector<KnownAnswer> AnswerTokens::FindIn(NamespaceId name_space, const PromptText& prompt) {
  std::vector<KnownAnswer> found;
  PrefixKeys keys(prompt);
  const std::string_view text = prompt.text;
  const MutexLock lock(mutex_);
  auto at = by_place_.lower_bound({name_space, 0});
  while (at != by_place_.end() && at->first.first == name_space && at->first.second < text.size()) {
    const size_t begin = at->first.second;
    const auto end = by_place_.upper_bound(at->first);
    const bool inside_another = !found.empty() && begin < found.back().range.end;
    const uint64_t hash = inside_another ? 0 : keys.KeyAt(begin).hash;
    auto best = entries_.end();
    size_t best_tokens = 0;
    for (; at != end; ++at) {
      const Entry& entry = *at->second;
      if (inside_another || entry.prompt.hash != hash) continue;
      const size_t tokens = TokensAtFront(entry.answer, text.substr(begin));
      const bool longer =
          tokens > 0 &&
          (best_tokens == 0 || entry.answer.ends[tokens - 1] > best->answer.ends[best_tokens - 1]);
      if (!longer) continue;
      best = at->second;
      best_tokens = tokens;
    }
    if (best_tokens == 0) continue;
    entries_.splice(entries_.begin(), entries_, best);
    const Tokens& tokens = best->answer.tokens;
    found.push_back({{begin, begin + best->answer.ends[best_tokens - 1]},
                     Tokens(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(best_tokens))});
  }
  return found;
}

size_t AnswerTokens::bytes() const {
  const MutexLock lock(mutex_);
  return bytes_;
}

void AnswerTokens::Forget(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  const auto [first, last] = by_place_.equal_range({entry->name_space, entry->prompt.bytes});
  by_place_.erase(
      std::find_if(first, last, [&](const auto& candidate) { return candidate.second == entry; }));
  entries_.erase(entry);
}

}  // namespace cairn
