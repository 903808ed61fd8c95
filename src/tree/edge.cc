#include "tree/edge.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "base/check.h"

namespace cairn {
namespace {

// Returns how many consecutive numbers `tokens` begin with.
size_t RunLength(TokenSpan tokens) {
  // Compilers vectorise a loop of constant length without an early exit.
  constexpr size_t kBlock = 16;
  const auto first = static_cast<uint32_t>(tokens.front());
  size_t count = 1;
  for (; tokens.size() - count >= kBlock; count += kBlock) {
    uint32_t differ = 0;
    const Token* const block = &tokens[count];
    const uint32_t expected = first + static_cast<uint32_t>(count);
    for (uint32_t i = 0; i < kBlock; ++i) {
      differ |= static_cast<uint32_t>(block[i]) ^ (expected + i);
    }
    if (differ != 0) break;
  }
  while (count < tokens.size() && static_cast<uint32_t>(tokens[count]) - first == count) ++count;
  return count;
}

}  // namespace

Edge::Edge(TokenSpan tokens) {
  if (tokens.empty() || !IsNumbered(tokens.front())) {
    words_.assign(tokens.begin(), tokens.end());
    return;
  }
  while (!tokens.empty()) {
    const size_t count = RunLength(tokens);
    AddRun(tokens.front(), static_cast<Token>(count));
    tokens = tokens.subspan(count);
  }
}

void Edge::AddRun(Token first, Token count) {
  words_.push_back(first);
  words_.push_back(count);
}

size_t Edge::RunTokens() const {
  size_t tokens = 0;
  for (size_t i = 1; i < words_.size(); i += 2) tokens += static_cast<size_t>(words_[i]);
  return tokens;
}

void Edge::Copy(size_t begin, std::span<Token> to) const {
  if (!in_runs()) {
    std::copy_n(words_.begin() + static_cast<ptrdiff_t>(begin), to.size(), to.begin());
    return;
  }
  size_t skipped = begin;
  for (size_t i = 0; !to.empty(); i += 2) {
    const auto count = static_cast<size_t>(words_[i + 1]);
    const size_t from = std::min(skipped, count);
    const size_t copied = std::min(count - from, to.size());
    std::iota(to.begin(), to.begin() + static_cast<ptrdiff_t>(copied),
              words_[i] + static_cast<Token>(from));
    to = to.subspan(copied);
    skipped -= from;
  }
}

// If a run's last token is shared, so are all before it.
size_t Edge::SharedWith(TokenSpan tokens) const {
  if (!in_runs()) return CommonTokens(words_, tokens);
  size_t shared = 0;
  for (size_t i = 0; i < words_.size() && shared < tokens.size(); i += 2) {
    const TokenSpan rest = tokens.subspan(shared);
    const size_t count = std::min(static_cast<size_t>(words_[i + 1]), rest.size());
    const auto has = [&](size_t n) { return rest[n - 1] == words_[i] + static_cast<Token>(n - 1); };
    if (has(count)) {
      shared += count;
      continue;
    }
    size_t same = 0;
    size_t differs = count;
    while (differs - same > 1) {
      const size_t middle = same + (differs - same) / 2;
      (has(middle) ? same : differs) = middle;
    }
    return shared + same;
  }
  return shared;
}

Edge Edge::CutAfter(size_t keep) {
  CHECK(keep > 0 && keep < size());
  Edge rest;
  if (!in_runs()) {
    const auto cut = words_.begin() + static_cast<ptrdiff_t>(keep);
    rest.words_.assign(cut, words_.end());
    words_ = Tokens(words_.begin(), cut);  // a new one, because erasing would keep the memory
    return rest;
  }
  size_t run = 0;
  while (static_cast<size_t>(words_[run + 1]) <= keep) {
    keep -= static_cast<size_t>(words_[run + 1]);
    run += 2;
  }
  const auto kept = static_cast<Token>(keep);
  rest.AddRun(words_[run] + kept, words_[run + 1] - kept);
  const auto next = words_.begin() + static_cast<ptrdiff_t>(run) + 2;
  rest.words_.insert(rest.words_.end(), next, words_.end());
  words_ = Tokens(words_.begin(), next);
  if (kept > 0) {
    words_.back() = kept;
  } else {
    words_.resize(run);
  }
  return rest;
}

void Edge::Append(const Edge& other) {
  auto begin = other.words_.begin();
  if (in_runs() && !other.empty()) {
    const Token count = words_.back();
    const Token first = words_[words_.size() - 2];
    if (first + count == other.front()) {
      words_.back() += other.words_[1];
      begin += 2;
    }
  }
  words_.reserve(words_.size() + static_cast<size_t>(other.words_.end() - begin));
  words_.insert(words_.end(), begin, other.words_.end());
}

}  // namespace cairn
