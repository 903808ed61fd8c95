#include "conformance/model_bench.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "engine/llama/backend/llama_backend.h"

namespace cairn::conformance {

Result<std::unique_ptr<ModelBench>> ModelBench::Load(const std::string& path, uint32_t sequences,
                                                     bool unified) {
  InitLlamaBackend([](LogLevel /*level*/, std::string_view line) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  });
  auto bench = std::make_unique<ModelBench>();
  bench->model_.reset(llama_model_load_from_file(path.c_str(), llama_model_default_params()));
  if (!bench->model_) return Fail(ErrorCode::kUnsupported, "load");
  llama_context_params params = llama_context_default_params();
  // The total for all sequences.
  params.n_ctx = kTrainedTokens * sequences;
  params.n_ubatch = 2 * kChunkTokens;
  params.n_seq_max = sequences;
  params.kv_unified = unified;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
  params.n_threads = 1;
  params.n_threads_batch = 1;
  bench->context_.reset(llama_init_from_model(bench->model_.get(), params));
  if (!bench->context_) return Fail(ErrorCode::kUnsupported, "context");
  bench->LookForWindow();
  return bench;
}

PromptTokens ModelBench::RandomPrompt(size_t tokens) {
  const auto vocab =
      static_cast<uint64_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())));
  PromptTokens prompt(tokens);
  for (llama_token& token : prompt) token = static_cast<llama_token>(random_() % vocab);
  return prompt;
}

void ModelBench::Decode(const PromptTokens& tokens, llama_pos begin, llama_pos end,
                        llama_seq_id seq) {
  if (!refused_.empty()) return;
  llama_batch batch = llama_batch_init(end - begin, 0, 1);
  batch.n_tokens = end - begin;
  for (int32_t i = 0; i < batch.n_tokens; ++i) {
    const llama_pos position = begin + i;
    batch.token[i] = tokens[static_cast<size_t>(position)];
    batch.pos[i] = position;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = seq;
    batch.logits[i] = i + 1 == batch.n_tokens ? 1 : 0;
  }
  const int32_t code = llama_decode(context_.get(), batch);
  llama_batch_free(batch);
  Expect(code == 0, "decode");
}

void ModelBench::LookForWindow() {
  if (!has_memory()) return;
  constexpr llama_pos kFew = 8;
  const PromptTokens tokens = RandomPrompt(2 * kFew);
  Read(tokens, 0, kFew);
  const size_t few = StateSize(0, kPartial);
  Read(tokens, kFew, 2 * kFew);
  keeps_window_ = StateSize(0, kPartial) > few;
  llama_memory_clear(memory(), true);
}

void ModelBench::OrderWindow(llama_seq_id seq) {
  if (!keeps_window_ || llama_memory_seq_pos_max(memory(), seq) < 0) return;
  SetState(seq, GetState(seq, kPartial), kPartial);
}

LogitRows ModelBench::Read(const PromptTokens& tokens, llama_pos begin, llama_pos end,
                           llama_seq_id seq) {
  const int32_t vocab = llama_vocab_n_tokens(llama_model_get_vocab(model_.get()));
  LogitRows rows;
  while (begin < end && refused_.empty()) {
    const llama_pos next = std::min(end, (begin / kChunkTokens + 1) * kChunkTokens);
    OrderWindow(seq);
    Decode(tokens, begin, next, seq);
    if (!refused_.empty()) break;
    const float* const row = llama_get_logits_ith(context_.get(), -1);
    Expect(row != nullptr, "logits");
    if (row != nullptr) rows.insert(rows.end(), row, row + vocab);
    begin = next;
  }
  return rows;
}

void ModelBench::ReadSingly(const PromptTokens& tokens, llama_pos begin, llama_pos end) {
  for (; begin < end; ++begin) Decode(tokens, begin, begin + 1, 0);
}

size_t ModelBench::StateSize(llama_seq_id seq, llama_state_seq_flags flags) const {
  return llama_state_seq_get_size_ext(context_.get(), seq, flags);
}

Blob ModelBench::GetState(llama_seq_id seq, llama_state_seq_flags flags) {
  if (!refused_.empty()) return {};
  Blob state(StateSize(seq, flags));
  const size_t written =
      llama_state_seq_get_data_ext(context_.get(), state.data(), state.size(), seq, flags);
  Expect(written == state.size(), "get");
  return state;
}

void ModelBench::SetState(llama_seq_id seq, const Blob& state, llama_state_seq_flags flags) {
  if (!refused_.empty()) return;
  const size_t read =
      llama_state_seq_set_data_ext(context_.get(), state.data(), state.size(), seq, flags);
  Expect(read == state.size(), "set");
}

void ModelBench::Cut(llama_seq_id seq, llama_pos position) {
  if (refused_.empty()) Expect(llama_memory_seq_rm(memory(), seq, position, -1), "cut");
}

void ModelBench::CopyRange(llama_seq_id from, llama_seq_id to, llama_pos begin, llama_pos end) {
  if (refused_.empty()) llama_memory_seq_cp(memory(), from, to, begin, end);
}

std::optional<double> Difference(const LogitRows& wanted, const LogitRows& got) {
  if (wanted.size() != got.size()) return std::numeric_limits<double>::quiet_NaN();
  if (std::memcmp(wanted.data(), got.data(), wanted.size() * sizeof(float)) == 0) return {};
  double largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = std::abs(static_cast<double>(wanted[i]) - got[i]);
    if (!(difference <= largest)) largest = difference;  // true for NaN too
  }
  return largest;
}

std::string DifferenceText(double difference) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0e", difference);
  return text.data();
}

}  // namespace cairn::conformance
