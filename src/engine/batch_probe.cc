#include "engine/batch_probe.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace cairn {
namespace {

constexpr SeqId kSeq = 0;
// A step of the usual grid, and then some.
constexpr size_t kPromptTokens = 80;

// Tokens for the positions [begin, end).
Tokens TokensAt(const Engine& engine, size_t begin, size_t end) {
  constexpr uint64_t kStride = 2'654'435'761;  // a prime far from any vocabulary's size
  Tokens tokens;
  for (size_t at = begin; at < end; ++at) {
    tokens.push_back(static_cast<Token>(at * kStride % engine.info().vocab_size));
  }
  return tokens;
}

using Rows = std::vector<std::vector<float>>;

// Appends the rows of logits of the `count` tokens of the last DecodeEach.
void AppendRows(const Engine& engine, size_t count, Rows* rows) {
  for (size_t i = 0; i < count; ++i) {
    const std::span<const float> row = engine.LogitsOf(i);
    rows->emplace_back(row.begin(), row.end());
  }
}

// Appends the rows of logits of `count` tokens that are decoded together at `position`.
Status DecodeTogether(Engine* engine, size_t position, size_t count, Rows* rows) {
  const Tokens tokens = TokensAt(*engine, position, position + count);
  Status decoded = engine->DecodeEach(NextTokens(kSeq, position, tokens));
  if (decoded) AppendRows(*engine, count, rows);
  return decoded;
}

// The rows of a run that decodes `together` tokens after a prompt, and `left` more one by one.
Result<Rows> RowsOfRun(Engine* engine, size_t together, size_t left) {
  engine->Clear(kSeq);
  const size_t chunk = std::min(kPromptTokens, engine->chunk_tokens_max());
  Rows rows;
  Status decoded = engine->Decode(kSeq, 0, TokensAt(*engine, 0, chunk));
  if (decoded && together > 0) decoded = DecodeTogether(engine, chunk, together, &rows);
  for (size_t i = 0; decoded && i < left; ++i) {
    decoded = DecodeTogether(engine, chunk + together + i, 1, &rows);
  }
  engine->Clear(kSeq);
  if (!decoded) return tl::unexpected(decoded.error());
  return rows;
}

// Rounding moved logits by a hundredth of their spread at most; another sequence's are as far away
// as any.
constexpr float kOtherSequence = 0.125F;

bool AreFarApart(std::span<const float> row, std::span<const float> wanted) {
  const auto [least, most] = std::minmax_element(wanted.begin(), wanted.end());
  const float far = (*most - *least) * kOtherSequence;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // A number that is none is not near to anything.
    if (!(std::abs(row[i] - wanted[i]) <= far)) return true;
  }
  return false;
}

// The logits behind one token of each sequence, decoded in one call.
Result<Rows> RowsBehind(Engine* engine, std::span<const NextToken> tokens) {
  Rows rows;
  const Status decoded = engine->DecodeEach(tokens);
  if (decoded) AppendRows(*engine, tokens.size(), &rows);
  for (const NextToken& token : tokens) engine->Clear(token.seq);
  if (!decoded) return tl::unexpected(decoded.error());
  return rows;
}

}  // namespace

Result<bool> MixesUpTokens(Engine* engine) {
  constexpr size_t kHalf = kTiledChunkTokens / 2;
  const Tokens tokens = TokensAt(*engine, 1, 1 + kTiledChunkTokens);
  const TokenSpan all = tokens;
  Status decoded = engine->Decode(kSeq, 0, all.first(kHalf));
  if (decoded) decoded = engine->Decode(kSeq, kHalf, all.subspan(kHalf));
  if (!decoded) return tl::unexpected(decoded.error());
  const std::vector<float> wanted(engine->Logits().begin(), engine->Logits().end());
  engine->Clear(kSeq);
  if (decoded = engine->Decode(kSeq, 0, all); !decoded) return tl::unexpected(decoded.error());
  const bool mixes = AreFarApart(engine->Logits(), wanted);
  engine->Clear(kSeq);
  return mixes;
}

Result<bool> MixesUpSequences(Engine* engine) {
  constexpr size_t kPairs = 3;
  const Tokens tokens = TokensAt(*engine, 1, 1 + 2 * kPairs);
  for (size_t i = 0; i < tokens.size(); i += 2) {
    const std::array<NextToken, 2> pair = {NextToken{0, 0, tokens[i]},
                                           NextToken{1, 0, tokens[i + 1]}};
    const auto together = RowsBehind(engine, pair);
    if (!together) return tl::unexpected(together.error());
    for (size_t seq = 0; seq < pair.size(); ++seq) {
      const auto alone = RowsBehind(engine, std::span(pair).subspan(seq, 1));
      if (!alone) return tl::unexpected(alone.error());
      if (AreFarApart((*together)[seq], alone->front())) return true;
    }
  }
  return false;
}

Result<size_t> FindBatchDifference(Engine* engine, size_t tokens_max) {
  const auto alone = RowsOfRun(engine, 0, tokens_max + 1);
  if (!alone) return tl::unexpected(alone.error());
  for (size_t tokens = 2; tokens <= tokens_max; ++tokens) {
    // Kernels change at small sizes and at powers of two.
    const bool is_tried = tokens <= 5 || (tokens & (tokens - 1)) == 0 || tokens == tokens_max;
    if (!is_tried) continue;
    const auto together = RowsOfRun(engine, tokens, 1);
    if (!together) return tl::unexpected(together.error());
    if (!std::equal(together->begin(), together->end(), alone->begin())) return tokens;
  }
  return 0;
}

}  // namespace cairn
