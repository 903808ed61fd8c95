#include "engine/llama/mtp/llama_mtp.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace cairn {
namespace {

// So many unread tokens wait for the next draft, whose first decode reads them for little more.
constexpr size_t kUnreadMax = 32;

double ProbabilityOf(Token token, std::span<const float> logits) {
  const float of_token = logits[static_cast<size_t>(token)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - of_token);
  return 1 / sum;
}

}  // namespace

LlamaMtp::~LlamaMtp() = default;

size_t LlamaMtp::width() const {
  return static_cast<size_t>(llama_model_n_embd_out(loaded_->model()));
}

LlamaMtp::Sequence& LlamaMtp::At(SeqId seq) {
  CHECK(seq >= 0 && static_cast<size_t>(seq) < loaded_->slots());
  if (sequences_.empty()) {
    Sequence empty;
    empty.rows.assign(width(), 0.0F);
    sequences_.assign(loaded_->slots(), empty);
  }
  return sequences_[static_cast<size_t>(seq)];
}

std::span<const float> LlamaMtp::RowBefore(const Sequence& sequence, size_t index) const {
  return std::span<const float>(sequence.rows).subspan(index * width(), width());
}

void LlamaMtp::BeginAt(SeqId seq, size_t end) {
  if (!on()) return;
  llama_memory_seq_rm(memory(), seq, -1, -1);
  Sequence& sequence = At(seq);
  sequence.begin = sequence.end = end;
  sequence.unread.clear();
  sequence.rows.assign(width(), 0.0F);
}

void LlamaMtp::BeginAgain(SeqId seq) {
  if (batch_ != nullptr) llama_batch_ext_clear(batch_.get());
  Sequence& sequence = At(seq);
  const std::span<const float> last = RowBefore(sequence, sequence.unread.size());
  std::vector<float> row(last.begin(), last.end());
  BeginAt(seq, sequence.known_end());
  sequence.rows = std::move(row);
}

void LlamaMtp::OnDecoded(std::span<const NextToken> tokens) {
  if (!on()) return;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const NextToken& next = tokens[i];
    Sequence& sequence = At(next.seq);
    if (sequence.known_end() != next.position) BeginAt(next.seq, next.position);
    const float* const row =
        loaded_->heads().functions.row(loaded_->context(), static_cast<int32_t>(i));
    sequence.unread.push_back(next.token);
    sequence.rows.resize(sequence.rows.size() + width(), 0.0F);
    if (row != nullptr) std::copy_n(row, width(), sequence.rows.end() - width());
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_last = i + 1 == tokens.size() || tokens[i + 1].seq != tokens[i].seq;
    if (is_last && At(tokens[i].seq).unread.size() > kUnreadMax) Read(tokens[i].seq);
  }
}

int32_t LlamaMtp::Add(SeqId seq, size_t position, Token token, std::span<const float> row,
                      bool output) {
  if (batch_ == nullptr) batch_.reset(llama_batch_ext_init(context()));
  const int32_t index = llama_batch_ext_add_token(batch_.get(), seq, token);
  if (index < 0) return index;
  const llama_pos at = loaded_->PositionAt(seq, position);
  llama_batch_ext_set_pos(batch_.get(), index, &at);
  llama_batch_ext_set_output_logits(batch_.get(), index, output);
  const llama_embd state = {row.data(), 1, row.size()};
  return llama_batch_ext_set_embd_state(batch_.get(), index, state) ? index : -1;
}

bool LlamaMtp::Process() {
  const int32_t code = llama_process(context(), LLAMA_PROCESS_TYPE_DECODE, batch_.get());
  llama_batch_ext_clear(batch_.get());
  return code == 0;
}

void LlamaMtp::OnRead(SeqId seq) {
  Sequence& sequence = At(seq);
  const std::span<const float> last = RowBefore(sequence, sequence.unread.size());
  std::vector<float> row(last.begin(), last.end());
  sequence.end = sequence.known_end();
  sequence.unread.clear();
  sequence.rows = std::move(row);
}

bool LlamaMtp::AddUnread(SeqId seq, size_t begin, size_t end) {
  const Sequence& sequence = At(seq);
  for (size_t i = begin; i < end; ++i) {
    const int32_t index = Add(seq, sequence.end + i, sequence.unread[i], RowBefore(sequence, i),
                              /*output=*/false);
    if (index < 0) return false;
  }
  return true;
}

bool LlamaMtp::Read(SeqId seq) {
  const size_t unread = At(seq).unread.size();
  const size_t batch_max = llama_n_ubatch(context());
  for (size_t begin = 0; begin < unread; begin += batch_max) {
    if (AddUnread(seq, begin, std::min(begin + batch_max, unread)) && Process()) continue;
    BeginAgain(seq);
    return false;
  }
  OnRead(seq);
  return true;
}

std::optional<Token> LlamaMtp::Likeliest(int32_t output, double p_min) const {
  const float* const values = llama_get_logits_ith(context(), output);
  if (values == nullptr) return std::nullopt;
  const llama_vocab* const vocab = llama_model_get_vocab(loaded_->model());
  const std::span<const float> logits(values, static_cast<size_t>(llama_vocab_n_tokens(vocab)));
  const auto likeliest =
      static_cast<Token>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  if (p_min > 0 && ProbabilityOf(likeliest, logits) < p_min) return std::nullopt;
  return likeliest;
}

std::vector<LlamaMtp::Drafting> LlamaMtp::BeginDrafts(std::span<const Wish> wishes,
                                                      std::vector<Tokens>* drafts) {
  std::vector<Drafting> begun;
  const size_t batch_max = llama_n_batch(context());
  size_t batched = 0;
  for (size_t i = 0; i < wishes.size(); ++i) {
    const Wish& wish = wishes[i];
    const size_t base = At(wish.seq).known_end();
    if (base == 0 || wish.tokens_max == 0) continue;
    // Tokens that do not fit beside one of each other answer are read before.
    const size_t room = batch_max - std::min(batch_max, batched + wishes.size() - i);
    if (At(wish.seq).unread.size() > room && !Read(wish.seq)) continue;
    const Sequence& sequence = At(wish.seq);
    Drafting draft = {&wish, base, &(*drafts)[i], -1};
    const size_t unread = sequence.unread.size();
    if (AddUnread(wish.seq, 0, unread)) {
      draft.output = Add(wish.seq, base, wish.next, RowBefore(sequence, unread), /*output=*/true);
    }
    begun.push_back(draft);
    batched += unread + 1;
  }
  return begun;
}

bool LlamaMtp::Extend(Drafting* draft, double p_min) {
  const auto likeliest = Likeliest(draft->output, p_min);
  if (!likeliest) return false;
  draft->drafted->push_back(*likeliest);
  const llama_vocab* const vocab = llama_model_get_vocab(loaded_->model());
  if (draft->drafted->size() == draft->wish->tokens_max) return false;
  if (llama_vocab_is_eog(vocab, *likeliest)) return false;
  // The head goes on with its own state in place of the model's.
  const float* const behind = loaded_->heads().functions.row(context(), draft->output);
  if (behind == nullptr) return false;
  draft->output = Add(draft->wish->seq, draft->base + draft->drafted->size(), *likeliest,
                      {behind, width()}, /*output=*/true);
  return draft->output >= 0;
}

std::vector<Tokens> LlamaMtp::DraftEach(std::span<const Wish> wishes, double p_min) {
  std::vector<Tokens> drafts(wishes.size());
  if (!on()) return drafts;
  const std::vector<Drafting> begun = BeginDrafts(wishes, &drafts);
  if (begun.empty()) return drafts;
  const bool whole = std::all_of(begun.begin(), begun.end(),
                                 [](const Drafting& draft) { return draft.output >= 0; });
  if (!whole || !Process()) {
    for (const Drafting& draft : begun) BeginAgain(draft.wish->seq);
    return drafts;
  }
  for (const Drafting& draft : begun) OnRead(draft.wish->seq);
  std::vector<Drafting> going = begun;
  do {
    std::vector<Drafting> on;
    for (Drafting& draft : going) {
      if (Extend(&draft, p_min)) on.push_back(draft);
    }
    going = std::move(on);
  } while (!going.empty() && Process());
  for (const Drafting& draft : begun) {
    const llama_pos end = loaded_->PositionAt(draft.wish->seq, draft.base);
    if (!llama_memory_seq_rm(memory(), draft.wish->seq, end, -1)) BeginAgain(draft.wish->seq);
  }
  return drafts;
}

void LlamaMtp::CutTo(SeqId seq, size_t position) {
  if (!on()) return;
  Sequence& sequence = At(seq);
  if (position == sequence.known_end()) return;
  if (position >= sequence.end && position < sequence.known_end()) {
    sequence.unread.resize(position - sequence.end);
    sequence.rows.resize((sequence.unread.size() + 1) * width());
    return;
  }
  const bool holds = sequence.begin < position && position < sequence.end;
  if (!holds || !llama_memory_seq_rm(memory(), seq, loaded_->PositionAt(seq, position), -1)) {
    BeginAt(seq, position);
    return;
  }
  sequence.end = position;
  sequence.unread.clear();
  sequence.rows.assign(width(), 0.0F);
}

void LlamaMtp::Fork(SeqId from, SeqId to, size_t position) {
  if (!on()) return;
  BeginAt(to, position);
  if (position > At(from).end && position <= At(from).known_end()) Read(from);
  const Sequence& origin = At(from);
  if (position <= origin.begin || position > origin.end) return;
  llama_memory_seq_cp(memory(), from, to, loaded_->PositionAt(from, origin.begin),
                      loaded_->PositionAt(from, position));
  At(to).begin = origin.begin;
  if (position == origin.end) At(to).rows = origin.rows;
}

void LlamaMtp::SetRow(SeqId seq, size_t position, ByteSpan row) {
  if (!on()) return;
  Sequence& sequence = At(seq);
  if (sequence.known_end() != position) BeginAt(seq, position);
  if (!sequence.unread.empty() || row.size() != row_bytes()) return;
  std::memcpy(sequence.rows.data(), row.data(), row.size());
}

void LlamaMtp::SetKv(SeqId seq, size_t begin, size_t end, ByteSpan kv) {
  if (!on()) return;
  CutTo(seq, begin);
  if (kv.empty() || !At(seq).unread.empty()) return BeginAt(seq, end);
  const size_t read = llama_state_seq_set_data_ext(context(), kv.data(), kv.size(), scratch(), 0);
  if (read == kv.size()) {
    llama_memory_seq_cp(memory(), scratch(), seq, loaded_->PositionAt(seq, begin),
                        loaded_->PositionAt(seq, end));
  }
  llama_memory_seq_rm(memory(), scratch(), -1, -1);
  if (read != kv.size()) return BeginAt(seq, end);
  At(seq).end = end;
  At(seq).rows.assign(width(), 0.0F);
}

Result<Bytes> LlamaMtp::TakeKv(SeqId seq, size_t begin, size_t end) {
  Bytes bytes;
  if (!on()) return bytes;
  if (end > At(seq).end && end <= At(seq).known_end() && !Read(seq)) return bytes;
  const Sequence& sequence = At(seq);
  if (begin < sequence.begin || end > sequence.end || begin >= end) return bytes;
  llama_memory_seq_cp(memory(), seq, scratch(), loaded_->PositionAt(seq, begin),
                      loaded_->PositionAt(seq, end));
  const size_t size = llama_state_seq_get_size_ext(context(), scratch(), 0);
  Status room = TryResize(&bytes, size);
  const size_t written =
      room ? llama_state_seq_get_data_ext(context(), bytes.data(), size, scratch(), 0) : 0;
  llama_memory_seq_rm(memory(), scratch(), -1, -1);
  if (!room) return tl::unexpected(room.error());
  if (written != size) bytes.clear();
  return bytes;
}

ByteSpan LlamaMtp::RowAt(SeqId seq, size_t position) const {
  const auto index = static_cast<size_t>(seq);
  if (!on() || index >= sequences_.size()) return {};
  const Sequence& sequence = sequences_[index];
  if (sequence.known_end() != position) return {};
  const std::span<const float> row = RowBefore(sequence, sequence.unread.size());
  return {reinterpret_cast<const uint8_t*>(row.data()), row.size_bytes()};
}

size_t LlamaMtp::KnownFrom(SeqId seq) const {
  const auto index = static_cast<size_t>(seq);
  return index < sequences_.size() ? sequences_[index].begin : 0;
}

size_t LlamaMtp::KnownTokens(SeqId seq) const {
  const auto index = static_cast<size_t>(seq);
  if (index >= sequences_.size()) return 0;
  return sequences_[index].known_end() - sequences_[index].begin;
}

void LlamaMtp::OnUnloaded() {
  batch_.reset();
  sequences_.clear();
}

}  // namespace cairn
