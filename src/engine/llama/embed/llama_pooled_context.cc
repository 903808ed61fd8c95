#include "engine/llama/embed/llama_pooled_context.h"

#include <llama.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "engine/embed/embedding_architectures.h"
#include "engine/llama/backend/llama_log.h"
#include "engine/llama/gguf/model_metadata.h"
#include "engine/llama/model/llama_params.h"
#include "engine/llama/state/llama_row_batch.h"

namespace cairn {
namespace {

// libllama reserves a row of logits for each token of a text, used or not. A context with room for
// more tokens than these is not kept for the next text.
constexpr size_t kKeptRoom = 2048;

// Each text that is computed with others takes a sequence of the context.
constexpr size_t kTextsTogetherMax = 64;

// Whether attention looks back alone, at what the context keeps of a text's earlier parts.
bool LooksBack(const LlamaEngine& engine) {
  const ModelInfo& info = engine.info();
  if (IsEncoder(info.architecture)) return false;
  return ModelMetadata(engine.model(), info.architecture + ".attention.causal") != "false";
}

// Several sequences at once were tried with all encoders and with these decoders; others might make
// libllama end the process. It also does so with more sequences than tokens of a ubatch.
size_t TextsMax(const std::string& architecture, size_t ubatch_tokens) {
  constexpr std::array<std::string_view, 3> kDecoders = {"gemma3", "llama", "qwen3"};
  const bool tried = IsEncoder(architecture) ||
                     std::find(kDecoders.begin(), kDecoders.end(), architecture) != kDecoders.end();
  return tried ? std::min(kTextsTogetherMax, ubatch_tokens) : 1;
}

// Returns the pooled vector of a text with media, whose tokens have these vectors.
TextVectors Pooled(const TextVectors& tokens, int pooling) {
  if (pooling == LLAMA_POOLING_TYPE_NONE) return tokens;
  if (pooling == LLAMA_POOLING_TYPE_CLS) return {tokens.front()};
  std::vector<double> sums(tokens.front().size());
  for (const std::vector<float>& token : tokens) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += token[i];
  }
  std::vector<float> mean;
  for (const double sum : sums) {
    mean.push_back(static_cast<float>(sum / static_cast<double>(tokens.size())));
  }
  return {std::move(mean)};
}

Status StatusOf(int32_t decoded) {
  constexpr int32_t kNoMemory = -2;
  if (decoded == 0) return {};
  return Fail(decoded == kNoMemory ? ErrorCode::kNoSpace : ErrorCode::kInternal,
              "libllama could not compute a vector of this text (" + std::to_string(decoded) + ")");
}

tl::unexpected<Error> NoVector() {
  return Fail(ErrorCode::kInternal, "libllama computed no vector of this text");
}

// libllama has room for the logits of each token, and models that write text compute them, too.
uint64_t RowBytes(const LlamaEngine& engine) {
  const uint64_t row = uint64_t{engine.info().vocab_size} * sizeof(float);
  return IsEncoder(engine.info().architecture) ? row : 2 * row;
}

}  // namespace

LlamaPooledContext::LlamaPooledContext(const LlamaEngine& engine, const LlamaOptions& options,
                                       int pooling, size_t size)
    : model_(engine.model()),
      options_(options),
      pooling_(pooling),
      size_(size),
      tokens_max_(engine.context_tokens()),
      ubatch_tokens_(std::min(engine.chunk_tokens_max(), tokens_max_)),
      row_bytes_(RowBytes(engine)),
      looks_back_(LooksBack(engine)),
      // Then the vector of a text's last part is that of the text.
      splits_(looks_back_ && pooling == LLAMA_POOLING_TYPE_LAST),
      texts_max_(TextsMax(engine.info().architecture, ubatch_tokens_)),
      memory_(MakeMemoryWatch(SystemMemorySources())) {}

LlamaPooledContext::~LlamaPooledContext() = default;

bool LlamaPooledContext::pools() const {
  return pooling_ != LLAMA_POOLING_TYPE_NONE;
}

size_t LlamaPooledContext::RoomFor(size_t tokens) const {
  size_t room = ubatch_tokens_;
  while (room < tokens) room *= 2;
  return std::min(room, tokens_max_);
}

Status LlamaPooledContext::MakeRoom(size_t tokens, int pooling) {
  if (context_ && tokens <= room_ && pooling == context_pooling_) return {};
  context_.reset();  // before the new one takes its memory
  const size_t room = RoomFor(tokens);
  if (Status fits = CheckMemory(room); !fits) return fits;
  if (Status made = MakeContext(room, pooling); !made) return made;
  room_ = room;
  context_pooling_ = pooling;
  return {};
}

Status LlamaPooledContext::CheckMemory(size_t room) const {
  if (room <= ubatch_tokens_) return {};
  constexpr uint64_t kMaskBytes =
      sizeof(float) + sizeof(uint16_t);  // attention has it in two types
  const uint64_t ubatch = splits_ ? ubatch_tokens_ : room;
  const auto heads = static_cast<uint64_t>(llama_model_n_head(model_));
  const uint64_t scores = options_.flash_attention == "off" ? heads * sizeof(float) : 0;
  const uint64_t bytes = room * row_bytes_ + ubatch * room * (kMaskBytes + scores);
  const uint64_t left = memory_->Look().left_bytes;
  if (bytes <= left / 4 * 3) return {};
  return Fail(ErrorCode::kNoSpace, "a text of more than " + std::to_string(room / 2) +
                                       " tokens takes up to " + std::to_string(bytes >> 20) +
                                       " MiB, and the server has " + std::to_string(left >> 20) +
                                       " MiB left, of which a text may take three quarters; "
                                       "send shorter texts");
}

Status LlamaPooledContext::MakeContext(size_t room, int pooling) {
  LlamaOptions options = options_;
  options.slots = 1;
  options.unified = true;
  options.rollback_states = 0;
  auto params = MakeContextParams(options, model_);
  if (!params) return tl::unexpected(params.error());
  params->n_ctx = params->n_batch = params->n_ubatch = static_cast<uint32_t>(room);
  if (splits_) params->n_ubatch = static_cast<uint32_t>(ubatch_tokens_);
  params->n_seq_max = static_cast<uint32_t>(texts_max_);
  params->embeddings = true;
  params->pooling_type = static_cast<enum llama_pooling_type>(pooling);
  const LlamaErrorListener errors(options_.log);
  context_.reset(llama_init_from_model(model_, *params));
  if (context_) return {};
  return Fail(ErrorCode::kNoSpace, "libllama cannot make a context for a text of " +
                                       std::to_string(room) + " tokens" + errors.Because());
}

Status LlamaPooledContext::Compute(std::span<const TokenSpan> texts, int32_t first) {
  size_t tokens = 0;
  for (const TokenSpan& text : texts) tokens += text.size();
  llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens), 0, 1);
  for (size_t sequence = 0; sequence < texts.size(); ++sequence) {
    for (size_t i = 0; i < texts[sequence].size(); ++i) {
      const int32_t at = batch.n_tokens++;
      batch.token[at] = texts[sequence][i];
      batch.pos[at] = first + static_cast<llama_pos>(i);
      batch.n_seq_id[at] = 1;
      batch.seq_id[at][0] = static_cast<llama_seq_id>(sequence);
      batch.logits[at] = 1;
    }
  }
  const int32_t failed = llama_decode(context_.get(), batch);
  llama_batch_free(batch);
  return StatusOf(failed);
}

// Rows that attend to later rows must be in one ubatch.
Status LlamaPooledContext::ComputeRows(const EncodedPiece& piece, int32_t first) {
  const LlamaRowBatch rows(piece, {0, piece.rows}, 0, first, LlamaRowBatch::Outputs::kAll);
  if (piece.non_causal) llama_set_causal_attn(context_.get(), false);
  const int32_t failed = llama_decode(context_.get(), rows.batch());
  if (piece.non_causal) llama_set_causal_attn(context_.get(), true);
  return StatusOf(failed);
}

Result<TextVectors> LlamaPooledContext::TokenVectors(size_t begin, size_t end) const {
  TextVectors vectors;
  for (size_t i = begin; i < end; ++i) {
    const float* numbers = llama_get_embeddings_ith(context_.get(), static_cast<int32_t>(i));
    if (numbers == nullptr) return NoVector();
    vectors.emplace_back(numbers, numbers + size_);
  }
  return vectors;
}

Result<TextVectors> LlamaPooledContext::PooledVector(int32_t sequence) const {
  const float* numbers = llama_get_embeddings_seq(context_.get(), sequence);
  if (numbers == nullptr) return NoVector();
  return TextVectors{{numbers, numbers + size_}};
}

void LlamaPooledContext::Count(size_t texts, size_t tokens, double ms) {
  const MutexLock lock(counts_mutex_);
  counts_ += {texts, tokens, ms};
}

TextCounts LlamaPooledContext::counts() const {
  const MutexLock lock(counts_mutex_);
  return counts_;
}

size_t LlamaPooledContext::TextsTogether(std::span<const TokenSpan> texts) const {
  size_t count = 1;
  size_t tokens = texts.front().size();
  while (count < std::min(texts.size(), texts_max_)) {
    tokens += texts[count].size();
    if (tokens > ubatch_tokens_) break;
    ++count;
  }
  return count;
}

Status LlamaPooledContext::PoolTexts(std::span<const TokenSpan> texts,
                                     std::vector<TextVectors>* vectors) {
  size_t tokens = 0;
  for (const TokenSpan& text : texts) tokens += text.size();
  if (Status made = MakeRoom(tokens, pooling_); !made) return made;
  Forget();
  const double begin_ms = clock_.NowMs();
  if (Status computed = Compute(texts, 0); !computed) return computed;
  Count(texts.size(), tokens, clock_.NowMs() - begin_ms);
  size_t begin = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const size_t end = begin + texts[i].size();
    auto one = pools() ? PooledVector(static_cast<int32_t>(i)) : TokenVectors(begin, end);
    if (!one) return tl::unexpected(one.error());
    vectors->push_back(*std::move(one));
    begin = end;
  }
  return {};
}

Status LlamaPooledContext::CheckRows(std::span<const TextPart> parts) const {
  const bool has_dense = llama_model_n_embd_out(model_) > llama_model_n_embd(model_);
  if (!looks_back_ || has_dense) {
    return Fail(ErrorCode::kUnsupported,
                "this model reads a text at once, and embeds no images and no recordings");
  }
  const auto row_floats = static_cast<size_t>(llama_model_n_embd_inp(model_));
  for (const TextPart& part : parts) {
    if (part.rows == nullptr) continue;
    if (part.rows->rows == 0 || part.rows->embeddings.size() != part.rows->rows * row_floats) {
      return Fail(ErrorCode::kUnsupported, "the rows of the medium do not fit the model");
    }
    if (part.rows->non_causal && splits_ && part.rows->rows > ubatch_tokens_) {
      return Fail(ErrorCode::kUnsupported,
                  "the medium has " + std::to_string(part.rows->rows) +
                      " rows, which this model takes in one ubatch only; start the server with "
                      "--ubatch-size " +
                      std::to_string(part.rows->rows) + " or more");
    }
  }
  return {};
}

Result<TextVectors> LlamaPooledContext::PoolWithRows(std::span<const TextPart> parts,
                                                     size_t tokens) {
  if (Status fits = CheckRows(parts); !fits) return tl::unexpected(fits.error());
  const int pooling = splits_ ? pooling_ : static_cast<int>(LLAMA_POOLING_TYPE_NONE);
  if (Status made = MakeRoom(tokens, pooling); !made) return tl::unexpected(made.error());
  Forget();
  const double begin_ms = clock_.NowMs();
  TextVectors all;
  int32_t first = 0;
  for (const TextPart& part : parts) {
    if (part.size() == 0) continue;
    const Status computed =
        part.rows != nullptr ? ComputeRows(*part.rows, first) : Compute({&part.tokens, 1}, first);
    if (!computed) return tl::unexpected(computed.error());
    first += static_cast<int32_t>(part.rows != nullptr ? part.rows->positions : part.size());
    if (splits_) continue;
    auto vectors = TokenVectors(0, part.size());
    if (!vectors) return vectors;
    all.insert(all.end(), vectors->begin(), vectors->end());
  }
  Count(1, tokens, clock_.NowMs() - begin_ms);
  return splits_ ? PooledVector(0) : Pooled(all, pooling_);
}

void LlamaPooledContext::Forget() {
  if (llama_memory_t memory = llama_get_memory(context_.get()); memory != nullptr) {
    llama_memory_clear(memory, true);
  }
}

Status LlamaPooledContext::CheckLength(size_t tokens) const {
  if (tokens == 0) return Fail(ErrorCode::kInvalidArgument, "there is no text");
  if (tokens <= tokens_max_) return {};
  return Fail(ErrorCode::kTooLong, "a text of " + std::to_string(tokens) +
                                       " tokens is too large; the context takes " +
                                       std::to_string(tokens_max_));
}

Result<std::vector<TextVectors>> LlamaPooledContext::PoolAll(std::span<const TokenSpan> texts,
                                                             const std::function<bool()>& gone) {
  for (const TokenSpan& text : texts) {
    if (Status fits = CheckLength(text.size()); !fits) return tl::unexpected(fits.error());
  }
  std::vector<TextVectors> vectors;
  while (vectors.size() < texts.size()) {
    if (gone && gone()) return Fail(ErrorCode::kCancelled, "the client disconnected");
    const auto rest = texts.subspan(vectors.size());
    const MutexLock lock(mutex_);
    const Status pooled = PoolTexts(rest.first(TextsTogether(rest)), &vectors);
    DropLargeRoom();
    if (!pooled) return tl::unexpected(pooled.error());
  }
  return vectors;
}

Result<TextVectors> LlamaPooledContext::Pool(TokenSpan tokens) {
  auto vectors = PoolAll({&tokens, 1}, nullptr);
  if (!vectors) return tl::unexpected(vectors.error());
  return std::move(vectors->front());
}

Result<TextVectors> LlamaPooledContext::Pool(std::span<const TextPart> parts) {
  size_t tokens = 0;
  bool has_rows = false;
  for (const TextPart& part : parts) {
    tokens += part.size();
    has_rows = has_rows || part.rows != nullptr;
  }
  CHECK(has_rows || parts.size() == 1);
  if (!has_rows) return Pool(parts.front().tokens);
  if (Status fits = CheckLength(tokens); !fits) return tl::unexpected(fits.error());
  const MutexLock lock(mutex_);
  auto vectors = PoolWithRows(parts, tokens);
  DropLargeRoom();
  return vectors;
}

void LlamaPooledContext::DropLargeRoom() {
  if (room_ > std::max(kKeptRoom, ubatch_tokens_)) context_.reset();
}

}  // namespace cairn
