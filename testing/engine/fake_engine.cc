#include "testing/engine/fake_engine.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "engine/llama/state/state_facts.h"
#include "media/media_tokens.h"
#include "tree/prompt_cuts.h"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 3> kSpecialTexts = {"<|endoftext|>", "<|im_start|>",
                                                           "<|im_end|>"};

// A token's contribution to the state. `flavour` is 0 if it was evaluated as in a cold run.
uint64_t Contribution(Token token, size_t position, uint64_t flavour) {
  return HashMix(HashMix(static_cast<uint64_t>(token) + 1, position), flavour);
}

// The lowest bits of `recurrent`; see GridOrigin.
constexpr uint64_t kOriginMask = (uint64_t{1} << 20) - 1;
// The bits of an `added` that repeat those of the cell before, on which the KV depends; see
// IsOfOneComputation.
constexpr uint64_t kBeforeMask = uint64_t{0xffffff} << 32;

// Returns the contribution of a token to the layers that keep a window.
uint64_t InWindow(uint64_t added) {
  return HashMix(added, 1);
}
// Returns the recurrent state behind a token. `origin`: of the grid there.
uint64_t RecurrentAfter(uint64_t recurrent, uint64_t added, uint64_t origin) {
  return (HashMix(recurrent, added) & ~kOriginMask) | origin;
}

// A chunk, and the grid in it: counted from `origin`, up to the first boundary inside it or its
// end.
struct GridChunk {
  size_t begin = 0;
  size_t end = 0;
  size_t origin = 0;
  size_t boundary = 0;
};

// How the chunk affects the token at `position`.
uint64_t Flavour(size_t position, const GridChunk& chunk, size_t grid) {
  const uint64_t mixed = HashMix(chunk.begin, chunk.end);
  if ((chunk.begin - chunk.origin) % grid != 0) return mixed;
  const size_t block_begin = position - (position - chunk.origin) % grid;
  if (block_begin + grid <= chunk.boundary) return 0;
  if (chunk.boundary < chunk.end) return mixed;
  // The last step is short in a cold run too, but a chunk of its own is another kernel's.
  const uint64_t short_step = chunk.end - block_begin;
  return chunk.begin == block_begin ? short_step : HashMix(short_step, grid);
}

uint64_t Fold(uint64_t state, const std::vector<uint64_t>& values, size_t begin, size_t end) {
  return Hash64(values.data() + begin, (end - begin) * sizeof(uint64_t), state);
}

class FakeSampler final : public Sampler {
 public:
  Token Sample(std::span<const float> logits) override {
    sampled_ = static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    return sampled_;
  }
  std::vector<Candidate> Candidates() const override { return {{sampled_, 0.75F}, {'?', 0.25F}}; }

 private:
  Token sampled_ = 0;
};

}  // namespace

FakeEngine::FakeEngine(const FakeEngineOptions& options) : options_(options) {
  if (options.adapters > 0) {
    std::vector<Adapter> adapters;
    for (size_t i = 0; i < options.adapters; ++i) {
      adapters.push_back({"lora" + std::to_string(i), "digest" + std::to_string(i), "", ""});
    }
    adapter_sets_ = std::make_shared<AdapterSets>(adapters, AdapterScales(adapters.size(), 0.0F));
  }
  info_.name = "fake";
  info_.architecture = "fake";
  info_.description = "a hash that plays a model";
  info_.eos_text = kSpecialTexts[2];
  info_.token_bytes_max = 32;
  info_.vocab_size = kVocabSize;
  info_.train_context_tokens = options.context_tokens;
  traits_.memory_class = options.memory_class;
  traits_.chunks_together = options.memory_class != MemoryClass::kSlidingWindow;
  traits_.grid_tokens = options.grid_tokens;
  traits_.grid_measured = true;
  traits_.kv_bytes_per_token = has_cells() ? sizeof(uint64_t) : 0;
  traits_.segments = has_cells() && options.segments;
  traits_.full_states = options.full_states;
  traits_.window_tokens = options.kept_window_tokens;
  CHECK(options.kept_window_tokens == 0 || !options.segments);
  traits_.one_buffer = options.one_buffer;
  CHECK(options.one_buffer || options.cells == 0);
  traits_.shifts = options.shifts && options.memory_class == MemoryClass::kAttention;
  traits_.rollback_tokens = has_recurrent() ? options.rollback_states : SIZE_MAX;
  CHECK(options.recurrent_bytes >= sizeof(uint64_t));
  if (has_recurrent()) traits_.snapshot_bytes = options.recurrent_bytes;
  if (has_window()) {
    traits_.window_tokens = options.window_tokens;
    traits_.snapshot_bytes = options.window_tokens * sizeof(uint64_t);
  }
}

Result<std::string> FakeEngine::StateIdentity() const {
  return FactsText({{"model", "fake"},
                    {"memory_class", std::string(MemoryClassName(options_.memory_class))},
                    {"grid_tokens", std::to_string(options_.grid_tokens)},
                    {"window_tokens", std::to_string(traits_.window_tokens)},
                    {"snapshot_bytes", std::to_string(traits_.snapshot_bytes)},
                    {"piece_tokens", std::to_string(options_.chunk_tokens_max)},
                    {"end_one_in", std::to_string(options_.end_one_in)},
                    {"seed", std::to_string(options_.seed)}});
}

Result<Tokens> FakeEngine::Tokenize(std::string_view text, bool /*add_special*/,
                                    bool parse_special) const {
  *tokenized_bytes_ += text.size();
  Tokens tokens;
  while (!text.empty()) {
    Token token = static_cast<uint8_t>(text.front());
    size_t bytes = 1;
    for (size_t i = 0; parse_special && i < kSpecialTexts.size(); ++i) {
      if (!text.starts_with(kSpecialTexts[i])) continue;
      token = kEndOfText + static_cast<Token>(i);
      bytes = kSpecialTexts[i].size();
    }
    tokens.push_back(token);
    text.remove_prefix(bytes);
  }
  return tokens;
}

std::string FakeEngine::Piece(Token token, bool special) const {
  if (token < kEndOfText) return std::string(1, static_cast<char>(token));
  return special ? std::string(kSpecialTexts[static_cast<size_t>(token - kEndOfText)]) : "";
}

bool FakeEngine::IsEndOfGeneration(Token token) const {
  return token == kEndOfText || token == kMessageEnd;
}

Status FakeEngine::Decode(SeqId seq, size_t position, TokenSpan tokens) {
  return DecodeChunk(seq, position, tokens, nullptr);
}

Status FakeEngine::DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits) {
  size_t tokens = 0;
  for (const SeqChunk& chunk : chunks) tokens += chunk.tokens.size();
  CHECK(!chunks.empty() && tokens <= options_.chunk_tokens_max);
  if (!HasRoomFor(tokens)) return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  std::vector<std::vector<float>> rows;
  for (const SeqChunk& chunk : chunks) {
    std::vector<std::vector<float>> each;
    // A test may override Decode.
    const Status decoded = logits == ChunkLogits::kEach
                               ? DecodeChunk(chunk.seq, chunk.position, chunk.tokens, &each)
                               : Decode(chunk.seq, chunk.position, chunk.tokens);
    if (!decoded) {
      for (const SeqChunk& other : chunks) Clear(other.seq);
      return decoded;
    }
    each.resize(chunk.tokens.size());
    each.back() = logits_.back();
    rows.insert(rows.end(), each.begin(), each.end());
  }
  logits_ = std::move(rows);
  return {};
}

Status FakeEngine::DecodeChunk(SeqId seq, size_t position, TokenSpan tokens,
                               std::vector<std::vector<float>>* each) {
  CHECK(!tokens.empty() && tokens.size() <= options_.chunk_tokens_max);
  CHECK(std::none_of(tokens.begin(), tokens.end(), IsMediaToken));
  if (Status room = CheckRoom(seq, position, tokens.size()); !room) return room;
  if (options_.on_chunk) options_.on_chunk(tokens.size());
  Sequence& sequence = Of(seq);
  Extend(&sequence, tokens, each);
  logits_ = {LogitsAt(StateHash(sequence))};
  return {};
}

std::vector<float> FakeEngine::LogitsBehind(Sequence* sequence, size_t end) const {
  const size_t before = std::exchange(sequence->end, end);
  std::vector<float> logits = LogitsAt(StateHash(*sequence));
  sequence->end = before;
  return logits;
}

Status FakeEngine::CheckRoom(SeqId seq, size_t position, size_t tokens) {
  CHECK(Of(seq).end == position);
  if (decodes_stop()) {
    Clear(seq);
    return Fail(ErrorCode::kInternal, "the fake engine was told to stop");
  }
  if (failing_decodes_ > 0) {
    --failing_decodes_;
    Clear(seq);
    return Fail(ErrorCode::kInternal, "the fake engine was told to fail");
  }
  const size_t end = position + tokens;
  if (end > options_.context_tokens) return Fail(ErrorCode::kTooLong, "the context is full");
  if (!HasRoomFor(tokens)) return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  return {};
}

Status FakeEngine::DecodeMedium(SeqId seq, size_t position, TokenSpan tokens,
                                const EncodedPiece& piece) {
  CHECK(!tokens.empty() && tokens.size() == piece.rows);
  CHECK(MediumAt(tokens, 0) == (MediumRange{0, tokens.size(), piece.positions}));
  if (Status room = CheckRoom(seq, position, tokens.size()); !room) return room;
  Sequence& sequence = Of(seq);
  const uint64_t rows =
      Hash64(piece.embeddings.data(), piece.embeddings.size() * sizeof(float), piece.rows);
  const size_t origin = GridOrigin(sequence);
  for (size_t i = 0; i < tokens.size(); ++i) {
    // Without message starts the grid does not begin anew.
    const bool last = i + 1 == tokens.size() && !options_.message_starts.empty();
    const uint64_t contribution = Adapted(Contribution(tokens[i], position + i, 0));
    Contribute(&sequence, HashMix(contribution, rows), last,
               last ? position + tokens.size() : origin);
  }
  EndChunk(&sequence, tokens.size());
  logits_ = {LogitsAt(StateHash(sequence))};
  return {};
}

Status FakeEngine::UseAdapters(AdapterSets::Number set) {
  if (adapter_sets_ == nullptr || adapters_in_use_ == set) return {};
  auto digest = adapter_sets_->DigestOf(set);
  if (!digest) return tl::unexpected(digest.error());
  adapters_digest_ = *std::move(digest);
  adapters_in_use_ = set;
  return {};
}

uint64_t FakeEngine::Adapted(uint64_t contribution) const {
  if (adapters_digest_.empty()) return contribution;
  return HashMix(contribution, Hash64(adapters_digest_));
}

Status FakeEngine::DecodeEach(std::span<const NextToken> tokens) {
  if (failing_decodes_ > 0) {
    --failing_decodes_;
    for (const NextToken& next : tokens) Clear(next.seq);
    return Fail(ErrorCode::kInternal, "the fake engine was told to fail");
  }
  if (!HasRoomFor(tokens.size())) return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  CHECK(!tokens.empty() && tokens.size() <= options_.chunk_tokens_max);
  logits_.clear();
  SeqId last_seq = -1;
  for (const NextToken& next : tokens) {
    Sequence& sequence = Of(next.seq);
    if (next.seq != last_seq) {
      sequence.decode_begin = next.position;
      sequence.recurrent_before.clear();
      sequence.decode_window_begin = sequence.window_begin;
      last_seq = next.seq;
    }
    CHECK(sequence.end == next.position && next.position < options_.context_tokens);
    sequence.recurrent_before.push_back(sequence.recurrent);
    Extend(&sequence, {&next.token, 1});
    logits_.push_back(LogitsAt(StateHash(sequence)));
  }
  return {};
}

size_t FakeEngine::cells() const {
  return options_.cells > 0 ? options_.cells : options_.context_tokens * options_.slots;
}

bool FakeEngine::HasRoomFor(size_t tokens) const {
  if (options_.cells == 0 || !has_cells()) return true;
  size_t at_most = tokens;
  for (const auto& [seq, sequence] : sequences_) at_most += sequence.places.size();
  if (at_most <= options_.cells) return true;
  std::set<uint64_t> used;
  for (const auto& [seq, sequence] : sequences_) {
    used.insert(sequence.places.begin(), sequence.places.end());
  }
  return used.size() + tokens <= options_.cells;
}

size_t FakeEngine::GridOrigin(const Sequence& sequence) const {
  if (has_recurrent()) return sequence.recurrent & kOriginMask;
  size_t origin = sequence.end;
  while (origin > 0 && (sequence.added[origin - 1] & kBoundaryBit) == 0) --origin;
  return origin;
}

void FakeEngine::Extend(Sequence* sequence, TokenSpan tokens,
                        std::vector<std::vector<float>>* each) {
  const size_t begin = sequence->end;
  const size_t end = begin + tokens.size();
  CHECK(end <= kOriginMask);
  const bool was_set = std::exchange(sequence->was_set, false);
  mixed_states_ += was_set && !IsOfOneComputation(*sequence) ? 1 : 0;
  const Tokens& starts = options_.message_starts;
  const CutRules rules{options_.grid_tokens, starts, options_.boundary_gap_divisor};
  size_t origin = GridOrigin(*sequence);
  GridChunk chunk{begin, end, origin, end};
  std::vector<bool> is_boundary(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_start = std::find(starts.begin(), starts.end(), tokens[i]) != starts.end();
    if (!is_start || begin + i + 1 - origin < rules.GapAt(begin + i + 1)) continue;
    origin = begin + i + 1;
    is_boundary[i] = true;
    chunk.boundary = std::min(chunk.boundary, origin);
  }
  origin = chunk.origin;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const size_t at = begin + i;
    const uint64_t flavour = Flavour(at, chunk, options_.grid_tokens);
    if (is_boundary[i]) origin = at + 1;
    Contribute(sequence, Adapted(Contribution(tokens[i], at, flavour)), is_boundary[i], origin);
    if (each != nullptr) each->push_back(LogitsBehind(sequence, at + 1));
  }
  EndChunk(sequence, tokens.size());
}

void FakeEngine::Contribute(Sequence* sequence, uint64_t contribution, bool is_boundary,
                            size_t origin) {
  uint64_t added = (contribution & ~kBoundaryBit) | (is_boundary ? kBoundaryBit : 0);
  const uint64_t before = has_cells() && !sequence->cells.empty() ? sequence->cells.back() : 0;
  added = (added & ~kBeforeMask) | (before & kBeforeMask);
  if (has_cells()) AddCell(sequence, added);
  if (has_window()) sequence->window.push_back(InWindow(added));
  if (!has_recurrent()) return;
  sequence->recurrent = RecurrentAfter(sequence->recurrent, added, origin);
}

void FakeEngine::EndChunk(Sequence* sequence, size_t tokens) {
  sequence->end += tokens;
  if (has_window()) {
    sequence->window_begin = std::max(sequence->window_begin, WindowStart(sequence->end));
  }
  decoded_tokens_ += tokens;
}

bool FakeEngine::IsOfOneComputation(const Sequence& sequence) const {
  if (!has_cells()) return true;
  for (size_t i = 0; i < sequence.end; ++i) {
    const uint64_t before = i == 0 ? 0 : sequence.cells[i - 1];
    if (((sequence.added[i] ^ before) & kBeforeMask) != 0) return false;
  }
  if (has_window()) {
    for (size_t i = sequence.window_begin; i < sequence.end; ++i) {
      if (sequence.window[i] != InWindow(sequence.added[i])) return false;
    }
  }
  if (!has_recurrent()) return true;
  uint64_t recurrent = 0;
  uint64_t origin = 0;
  for (size_t i = 0; i < sequence.end; ++i) {
    if ((sequence.added[i] & kBoundaryBit) != 0) origin = i + 1;
    recurrent = RecurrentAfter(recurrent, sequence.added[i], origin);
  }
  return recurrent == sequence.recurrent;
}

uint64_t FakeEngine::StateHash(const Sequence& sequence) const {
  uint64_t state = HashMix(options_.seed, sequence.recurrent);
  if (has_cells() && sequence.end > 0) state = HashMix(state, sequence.cells[sequence.end - 1]);
  if (has_window()) {
    state = Fold(state, sequence.window, WindowStart(sequence.end), sequence.end);
  }
  return state;
}

std::vector<float> FakeEngine::LogitsAt(uint64_t state) const {
  std::vector<float> logits(kVocabSize);
  for (size_t i = 0; i < logits.size(); ++i) {
    // In [0, 1): exactly representable, different for every state and token.
    logits[i] = static_cast<float>(HashMix(state, i) >> 40) / static_cast<float>(1 << 24);
  }
  const bool ends = options_.end_one_in != 0 && state % options_.end_one_in == 0;
  const auto letter = static_cast<size_t>('a' + HashMix(state, 0) % options_.letters);
  logits[ends ? static_cast<size_t>(kMessageEnd) : letter] = 2.0F;
  return logits;
}

FakeEngine::Sequence& FakeEngine::Of(SeqId seq) {
  CHECK(!asleep_);
  return sequences_[seq];
}

Status FakeEngine::Sleep() {
  CHECK(!asleep_);
  sequences_.clear();
  logits_.clear();
  asleep_ = true;
  return {};
}

Status FakeEngine::Wake() {
  CHECK(asleep_);
  if (failing_wakes_ > 0) {
    --failing_wakes_;
    return Fail(ErrorCode::kNoSpace, "the fake engine was told not to wake");
  }
  asleep_ = false;
  return {};
}

void FakeEngine::AddCell(Sequence* sequence, uint64_t added) {
  sequence->cells.push_back(HashMix(sequence->cells.empty() ? 0 : sequence->cells.back(), added));
  sequence->added.push_back(added);
  sequence->places.push_back(++last_place_);
}

void FakeEngine::CutCells(Sequence* sequence, size_t position) {
  sequence->cells.resize(position);
  sequence->added.resize(position);
  sequence->places.resize(position);
}

std::unique_ptr<Sampler> FakeEngine::MakeSampler(const SamplingParams& /*params*/) {
  return std::make_unique<FakeSampler>();
}

}  // namespace cairn
