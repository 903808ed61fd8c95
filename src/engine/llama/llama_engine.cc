#include "engine/llama/llama_engine.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/allocate.h"
#include "base/check.h"
#include "engine/llama/llama_sampler.h"

namespace cairn {
namespace {

constexpr llama_state_seq_flags kPartial = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

// Stands before libllama's bytes in a snapshot, and tells one that was cut short, is of another
// position, or is none. It holds no checksum: that of 50 MB took longer than half of setting them,
// and bytes that never left this process's memory do not change. Where bytes come into the process,
// from a disk or a peer, whoever brings them in has to check them: libllama takes them on trust,
// and of snapshots with one bit changed it took more than half, as states that no run ever had.
struct SnapshotHeader {
  std::array<char, 8> magic = {'C', 'R', 'N', 'S', 'T', 'A', 'T', '2'};
  uint64_t position = 0;
  uint64_t bytes = 0;  // after the header
};
static_assert(sizeof(SnapshotHeader) == LlamaEngine::kSnapshotHeaderBytes);

}  // namespace

Result<Tokens> LlamaEngine::Tokenize(std::string_view text, bool add_special,
                                     bool parse_special) const {
  // No tokenizer makes more tokens than bytes, but for BOS, EOS and a space put in front.
  if (text.size() > static_cast<size_t>(INT32_MAX) - 8) {
    return Fail(ErrorCode::kTooLong, "the text has more than 2 GiB; no context holds it");
  }
  Tokens tokens(text.size() + 8);
  int32_t count =
      llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                     static_cast<int32_t>(tokens.size()), add_special, parse_special);
  if (count < 0 && count != INT32_MIN) {
    tokens.resize(static_cast<size_t>(-count));
    count = llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                           static_cast<int32_t>(tokens.size()), add_special, parse_special);
  }
  if (count < 0) return Fail(ErrorCode::kInternal, "libllama could not tokenize the text");
  tokens.resize(static_cast<size_t>(count));
  return tokens;
}

std::string LlamaEngine::Piece(Token token, bool special) const {
  if (token < 0 || static_cast<size_t>(token) >= info_.vocab_size) return "";
  std::string piece(32, '\0');
  int32_t bytes = llama_token_to_piece(vocab_, token, piece.data(),
                                       static_cast<int32_t>(piece.size()), 0, special);
  if (bytes < 0) {
    piece.resize(static_cast<size_t>(-bytes));
    bytes = llama_token_to_piece(vocab_, token, piece.data(), static_cast<int32_t>(piece.size()), 0,
                                 special);
  }
  piece.resize(static_cast<size_t>(std::max(bytes, 0)));
  return piece;
}

bool LlamaEngine::IsEndOfGeneration(Token token) const {
  return llama_vocab_is_eog(vocab_, token);
}

size_t LlamaEngine::cells() const {
  const size_t all = context_tokens_ * slots_;
  // A recurrent state takes the same room however many tokens went into it.
  if (traits_.kv_bytes_per_token == 0) return all;
  return std::min<size_t>(context_cells_, all);
}

llama_context* LlamaEngine::context() const {
  CHECK(context_ != nullptr);  // it sleeps
  return context_.get();
}

Status LlamaEngine::Decode(SeqId seq, size_t position, TokenSpan tokens) {
  CHECK(!tokens.empty() && tokens.size() <= chunk_tokens_max_);
  std::vector<NextToken> batch(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) batch[i] = {seq, position + i, tokens[i]};
  return DecodeBatch(batch, false);
}

Status LlamaEngine::DecodeEach(std::span<const NextToken> tokens) {
  CHECK(!tokens.empty() && tokens.size() <= slots_);
  return DecodeBatch(tokens, true);
}

Status LlamaEngine::DecodeBatch(std::span<const NextToken> tokens, bool each) {
  for (const NextToken& next : tokens) {
    CHECK(next.seq >= 0 && static_cast<size_t>(next.seq) < slots_);
    if (next.position < context_tokens_) continue;
    return Fail(ErrorCode::kTooLong,
                "the context of " + std::to_string(context_tokens_) + " tokens is full");
  }
  const auto fail = [&](const std::string& why) {
    for (const NextToken& next : tokens) Clear(next.seq);
    return Fail(ErrorCode::kInternal, "libllama could not decode: " + why);
  };
  for (const NextToken& next : each ? tokens : tokens.first(1)) {
    Status ready = PrepareWindow(next.seq, each || tokens.size() == 1);
    if (!ready) return fail(ready.error().message);
  }
  llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens.size()), 0, 1);
  batch.n_tokens = static_cast<int32_t>(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    batch.token[i] = tokens[i].token;
    batch.pos[i] = static_cast<llama_pos>(tokens[i].position);
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = tokens[i].seq;
    batch.logits[i] = each || i + 1 == tokens.size() ? 1 : 0;
  }
  const int32_t code = llama_decode(context(), batch);
  llama_batch_free(batch);
  if (code == 0) {
    for (const NextToken& next : tokens) NoteInWindow(next.seq, each || tokens.size() == 1);
    return {};
  }
  // No room, and the memory is as it was. Anything else may have left part of the piece behind.
  if (code == 1) return Fail(ErrorCode::kNoSpace, "other sequences hold the cells that it needs");
  return fail("llama_decode returned " + std::to_string(code));
}

std::span<const float> LlamaEngine::Logits() const {
  return LogitsAt(-1);
}

std::span<const float> LlamaEngine::LogitsOf(size_t index) const {
  return LogitsAt(static_cast<int32_t>(index));
}

std::span<const float> LlamaEngine::LogitsAt(int32_t index) const {
  const float* logits = llama_get_logits_ith(context(), index);
  CHECK(logits != nullptr);
  return {logits, info_.vocab_size};
}

Status LlamaEngine::WriteState(SeqId seq, size_t front, Bytes* bytes) const {
  const size_t size = llama_state_seq_get_size_ext(context(), seq, kPartial);
  if (Status room = TryResize(bytes, front + size); !room) return room;
  const size_t room = bytes->size() - front;
  const size_t written =
      llama_state_seq_get_data_ext(context(), bytes->data() + front, room, seq, kPartial);
  if (written == 0 || written > room) {
    return Fail(ErrorCode::kInternal, "libllama gave no state for the sequence");
  }
  bytes->resize(front + written);
  return {};
}

Status LlamaEngine::ReadState(SeqId seq, std::span<const uint8_t> state) {
  const size_t read =
      llama_state_seq_set_data_ext(context(), state.data(), state.size(), seq, kPartial);
  if (read != state.size()) {
    return Fail(ErrorCode::kCorrupt, "libllama refused the state of a sequence");
  }
  if (keeps_window_) window_cells_[seq] = {};
  return {};
}

Status LlamaEngine::PrepareWindow(SeqId seq, bool single_token) {
  if (!keeps_window_) return {};
  if (single_token && window_cells_[seq].in_answer) return {};
  return OrderWindow(seq);
}

void LlamaEngine::NoteInWindow(SeqId seq, bool single_token) {
  if (!keeps_window_) return;
  WindowCells& cells = window_cells_[seq];
  ++cells.unordered_tokens;
  cells.in_answer = single_token;
}

// libllama writes cells in their order and reads them back to the first cells. At a prompt's cut
// they have not come round to the first cell again, so their order is that of the tokens.
Status LlamaEngine::OrderWindow(SeqId seq) {
  if (SequenceEnd(seq) == 0) return {};
  Status ordered = WriteState(seq, 0, &window_bytes_);
  if (ordered) ordered = ReadState(seq, window_bytes_);
  if (!ordered) Clear(seq);
  return ordered;
}

Result<Bytes> LlamaEngine::TakeSnapshot(SeqId seq) {
  Bytes bytes;
  SnapshotHeader header;
  if (Status written = WriteState(seq, sizeof(header), &bytes); !written) {
    return tl::unexpected(written.error());
  }
  header.position = SequenceEnd(seq);
  header.bytes = bytes.size() - sizeof(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

Status LlamaEngine::Restore(SeqId seq, size_t position, std::span<const uint8_t> snapshot) {
  const auto refuse = [&](const std::string& why) {
    Clear(seq);
    return Fail(ErrorCode::kCorrupt,
                "the snapshot for position " + std::to_string(position) + " " + why);
  };
  SnapshotHeader header;
  if (snapshot.size() <= sizeof(header)) return refuse("is too short");
  std::memcpy(&header, snapshot.data(), sizeof(header));
  const std::span<const uint8_t> state = snapshot.subspan(sizeof(header));
  if (header.magic != SnapshotHeader().magic) return refuse("does not begin as one");
  if (header.position != position) {
    return refuse("was taken at position " + std::to_string(header.position));
  }
  if (header.bytes != state.size()) return refuse("is not whole");
  if (!ReadState(seq, state)) return refuse("does not fit this model");
  const bool cut =
      llama_memory_seq_rm(llama_get_memory(context()), seq, static_cast<llama_pos>(position), -1);
  if (!cut || SequenceEnd(seq) != position) return refuse("left the sequence elsewhere");
  return {};
}

bool LlamaEngine::CanTruncate(SeqId seq, size_t position) const {
  const size_t end = SequenceEnd(seq);
  if (position == 0 || position == end) return true;
  if (position > end) return false;
  switch (traits_.memory_class) {
    case MemoryClass::kAttention:
      return true;
    case MemoryClass::kSlidingWindow: {
      // The next token looks back over the window, so all of it must still be there, and its cells
      // must not have come round to the first one.
      const auto cells = window_cells_.find(seq);
      if (cells == window_cells_.end() || cells->second.unordered_tokens > chunk_tokens_max_) {
        return false;
      }
      const size_t window = traits_.window_tokens;
      if (window == 0) return false;  // there is one, and nothing says how long it is
      const size_t first = position < window ? 0 : position + 1 - window;
      const llama_pos held = llama_memory_seq_pos_min(llama_get_memory(context()), seq);
      return held >= 0 && static_cast<size_t>(held) <= first;
    }
    case MemoryClass::kRecurrent:
    case MemoryClass::kHybrid:
      return false;
  }
  return false;
}

Status LlamaEngine::Truncate(SeqId seq, size_t position) {
  CHECK(CanTruncate(seq, position));
  llama_memory_t memory = llama_get_memory(context());
  if (llama_memory_seq_rm(memory, seq, static_cast<llama_pos>(position), -1)) {
    if (keeps_window_) window_cells_[seq].in_answer = false;
    return {};
  }
  Clear(seq);
  return Fail(ErrorCode::kInternal,
              "libllama refused to cut the sequence at position " + std::to_string(position));
}

void LlamaEngine::Clear(SeqId seq) {
  llama_memory_seq_rm(llama_get_memory(context()), seq, -1, -1);
  window_cells_.erase(seq);
}

std::unique_ptr<Sampler> LlamaEngine::MakeSampler(const SamplingParams& params) {
  SampledModel model = {vocab_, info_.vocab_size, context_tokens_, dry_samplers_.get(), nullptr};
  if (params.grammar != nullptr) {
    if (texts_ == nullptr) texts_ = ReadTokenTexts();
    model.texts = texts_;
    for (const std::string& tag : params.grammar_tags) {
      const auto tokens = Tokenize(tag, false, true);
      if (tokens && tokens->size() == 1) model.tags.emplace_back(tokens->front(), tag);
    }
  }
  return MakeLlamaSampler(params, std::move(model));
}

std::shared_ptr<const TokenTexts> LlamaEngine::ReadTokenTexts() const {
  auto texts = std::make_shared<TokenTexts>();
  for (Token token = 0; token < static_cast<Token>(info_.vocab_size); ++token) {
    texts->texts.push_back(Piece(token, false));
    texts->ends.push_back(IsEndOfGeneration(token));
  }
  return texts;
}

ErrorCode LlamaEngine::WhyRefused(size_t tokens) const {
  size_t held = 0;
  for (size_t seq = 0; seq < slots_; ++seq) held += SequenceEnd(static_cast<SeqId>(seq));
  return held + tokens > cells() ? ErrorCode::kNoSpace : ErrorCode::kCorrupt;
}

size_t LlamaEngine::SequenceEnd(SeqId seq) const {
  const llama_pos last = llama_memory_seq_pos_max(llama_get_memory(context()), seq);
  return static_cast<size_t>(last) + 1;  // -1: it is empty
}

}  // namespace cairn
