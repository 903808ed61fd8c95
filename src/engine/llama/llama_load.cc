// How a LlamaEngine comes to be: loading the model, and finding out what its memory is like.

#include <llama.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/clock.h"
#include "engine/grid_probe.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/llama_log.h"
#include "engine/llama/llama_params.h"
#include "engine/llama/llama_sampler.h"
#include "engine/verified_architectures.h"

namespace cairn {
namespace {

constexpr SeqId kProbeSeq = 0;

// What libllama would only log in its own words.
Status CheckFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Fail(ErrorCode::kNotFound, "there is no model file '" + path + "'");
  }
  if (std::filesystem::is_directory(path, error)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + path + "' is a folder; --model takes a GGUF file");
  }
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  if (!file.read(magic.data(), magic.size())) {
    return Fail(ErrorCode::kInvalidArgument, "the model file '" + path + "' cannot be read");
  }
  if (std::string_view(magic.data(), magic.size()) != "GGUF") {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + path + "' is not a GGUF file: it does not begin with GGUF");
  }
  return {};
}

std::string Metadata(const llama_model* model, const char* key) {
  std::array<char, 1024> text{};
  const int32_t length = llama_model_meta_val_str(model, key, text.data(), text.size());
  return length < 0 ? "" : std::string(text.data());
}

struct StateSizes {
  size_t full;
  size_t partial;
};

StateSizes SizesOf(llama_context* context) {
  return {llama_state_seq_get_size_ext(context, kProbeSeq, LLAMA_STATE_SEQ_FLAGS_NONE),
          llama_state_seq_get_size_ext(context, kProbeSeq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)};
}

// Tokens from all over the vocabulary, so that they find many of a model's experts.
Tokens SpreadTokens(size_t count, size_t vocab_size) {
  constexpr uint64_t kStride = 2'654'435'761;  // a prime far from any vocabulary's size
  Tokens tokens;
  for (size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<Token>(i * kStride % vocab_size));
  }
  return tokens;
}

// `has_window`: the state that cannot be rolled back grows with the first tokens. What the model
// says of a window does not tell: some name one and keep everything all the same, and deepseek4
// keeps one without a word.
MemoryClass ClassOf(const llama_model* model, bool has_window) {
  if (llama_model_is_recurrent(model)) return MemoryClass::kRecurrent;
  if (llama_model_is_hybrid(model)) return MemoryClass::kHybrid;
  return has_window ? MemoryClass::kSlidingWindow : MemoryClass::kAttention;
}

// What they call is gone once the model is loaded.
LlamaOptions WithoutProgress(LlamaOptions options) {
  options.progress = nullptr;
  options.probe_progress = nullptr;
  options.find_grid = nullptr;
  return options;
}

}  // namespace

Result<LlamaEngine::Parts> LlamaEngine::LoadParts(const LlamaOptions& options) {
  if (Status usable = CheckFile(options.model_path); !usable) return tl::unexpected(usable.error());
  const LlamaErrorListener errors(options.log);

  LlamaModelParams model_params;
  if (Status filled = FillModelParams(options, &model_params); !filled) {
    return tl::unexpected(filled.error());
  }
  LlamaModelPtr model(llama_model_load_from_file(options.model_path.c_str(), model_params.params));
  if (!model) {
    return Fail(ErrorCode::kInvalidArgument,
                "libllama cannot load '" + options.model_path + "'" + errors.Because());
  }
  if (!llama_model_has_decoder(model.get()) || llama_model_has_encoder(model.get()) ||
      llama_model_is_diffusion(model.get())) {
    return Fail(ErrorCode::kUnsupported,
                "'" + options.model_path + "' is no model that answers token by token");
  }
  const auto context_params = MakeContextParams(options, model.get());
  if (!context_params) return tl::unexpected(context_params.error());
  LlamaContextPtr context(llama_init_from_model(model.get(), *context_params));
  if (!context) {
    return Fail(ErrorCode::kNoSpace,
                "libllama cannot make a context of " + std::to_string(context_params->n_ctx) +
                    " tokens" + errors.Because() + "; a smaller --ctx-size needs less memory");
  }
  return Parts{std::move(model), std::move(context)};
}

Result<std::unique_ptr<LlamaEngine>> LlamaEngine::Load(const LlamaOptions& options) {
  auto parts = LoadParts(options);
  if (!parts) return tl::unexpected(parts.error());
  LlamaModelPtr vocabulary;
  if (options.may_sleep) {
    auto loaded = LoadVocabulary(options);
    if (!loaded) return tl::unexpected(loaded.error());
    vocabulary = std::move(*loaded);
  }
  std::unique_ptr<LlamaEngine> engine(
      new LlamaEngine(std::move(*parts), std::move(vocabulary), options));
  if (Status measured = engine->MeasureTraits(options); !measured) {
    return tl::unexpected(measured.error());
  }
  if (!options.may_sleep) return engine;
  auto identity = engine->StateIdentity();
  if (!identity) return tl::unexpected(identity.error());
  engine->identity_ = std::move(*identity);
  return engine;
}

LlamaEngine::LlamaEngine(Parts parts, LlamaModelPtr vocabulary, const LlamaOptions& options)
    : options_(WithoutProgress(options)),
      model_(std::move(parts.model)),
      context_(std::move(parts.context)),
      vocabulary_(std::move(vocabulary)),
      vocab_(llama_model_get_vocab(vocabulary_ ? vocabulary_.get() : model_.get())),
      slots_(options.slots),
      unified_(options.unified),
      option_facts_(FactsOf(options)),
      dry_samplers_(std::make_unique<DrySamplers>()) {
  context_cells_ = llama_n_ctx(context());
  context_tokens_ = llama_n_ctx_seq(context());
  // Where positions are learned, libllama aborts on one that was not; such models rotate nothing.
  const bool keeps_all =
      !llama_model_is_recurrent(model_.get()) && !llama_model_is_hybrid(model_.get());
  if (keeps_all && llama_model_rope_type(model_.get()) == LLAMA_ROPE_TYPE_NONE) {
    const auto trained = static_cast<size_t>(llama_model_n_ctx_train(model_.get()));
    context_tokens_ = std::min(context_tokens_, trained);
  }
  chunk_tokens_max_ = llama_n_ubatch(context());
  ReadModelInfo(options);
}

LlamaEngine::~LlamaEngine() = default;

void LlamaEngine::ReadModelInfo(const LlamaOptions& options) {
  const llama_model* model = model_.get();
  info_.path = options.model_path;
  info_.vocab_size = static_cast<size_t>(llama_vocab_n_tokens(vocab_));
  // A token's text in the vocabulary is at least as long as what it stands for.
  for (Token token = 0; token < static_cast<Token>(info_.vocab_size); ++token) {
    const size_t bytes = std::strlen(llama_vocab_get_text(vocab_, token));
    info_.token_bytes_max = std::max(info_.token_bytes_max, bytes);
  }
  info_.name = Metadata(model, "general.name");
  info_.architecture = Metadata(model, "general.architecture");
  std::array<char, 256> description{};
  llama_model_desc(model, description.data(), description.size());
  info_.description = description.data();
  const char* chat_template = llama_model_chat_template(model, nullptr);
  if (chat_template != nullptr) info_.chat_template = chat_template;
  const auto text_of = [&](llama_token token) {
    return token == LLAMA_TOKEN_NULL ? std::string() : Piece(token, true);
  };
  info_.bos_text = text_of(llama_vocab_bos(vocab_));
  info_.eos_text = text_of(llama_vocab_eos(vocab_));
  info_.adds_bos = llama_vocab_get_add_bos(vocab_);
  info_.train_context_tokens = static_cast<size_t>(llama_model_n_ctx_train(model));
  info_.embedding_size = static_cast<size_t>(llama_model_n_embd(model));
  info_.parameters = llama_model_n_params(model);
  info_.size_bytes = llama_model_size(model);
}

Tokens LlamaEngine::ProbeTokens() const {
  return SpreadTokens(std::min(kMoreTokens, context_tokens_), info_.vocab_size);
}

Status LlamaEngine::MeasureTraits(const LlamaOptions& options) {
  const Tokens tokens = ProbeTokens();
  const size_t token_count = tokens.size();
  if (token_count <= kFewTokens || chunk_tokens_max_ < kMoreTokens) {
    return Fail(ErrorCode::kInvalidArgument,
                "--ctx-size and --ubatch-size must be at least " + std::to_string(kMoreTokens));
  }
  if (Status read = Decode(kProbeSeq, 0, TokenSpan(tokens).first(kFewTokens)); !read) return read;
  const StateSizes few = SizesOf(context());
  if (Status read = Decode(kProbeSeq, kFewTokens, TokenSpan(tokens).subspan(kFewTokens)); !read)
    return read;
  const StateSizes more = SizesOf(context());
  const uint64_t bits = HashOfLogits();

  const bool has_partial_state = more.partial < more.full;
  const size_t steps = token_count - kFewTokens;
  const size_t partial_per_token = (more.partial - few.partial) / steps;
  const bool has_window = has_partial_state && partial_per_token > 0 && !options.swa_full;
  traits_.memory_class = ClassOf(model_.get(), has_window);
  const size_t full_per_token = (more.full - few.full) / steps;
  switch (traits_.memory_class) {
    case MemoryClass::kAttention:
      traits_.kv_bytes_per_token = full_per_token;
      break;
    case MemoryClass::kSlidingWindow:
      traits_.window_tokens = static_cast<size_t>(llama_model_n_swa(model_.get()));
      traits_.kv_bytes_per_token = full_per_token - partial_per_token;
      traits_.snapshot_bytes =
          few.partial +
          partial_per_token * (std::max(traits_.window_tokens, kMoreTokens) - kFewTokens);
      break;
    case MemoryClass::kRecurrent:
      traits_.snapshot_bytes = more.partial;
      break;
    case MemoryClass::kHybrid:
      traits_.kv_bytes_per_token = full_per_token - partial_per_token;
      traits_.snapshot_bytes = more.partial;
      break;
  }
  if (traits_.snapshot_bytes > 0) traits_.snapshot_bytes += kSnapshotHeaderBytes;
  keeps_window_ = has_window;
  traits_.shifts = MayShift();
  ProveTransport(options.log);
  Clear(kProbeSeq);
  proven_bits_ = BitsText(bits);
  const auto known = FindKnownGrid(options);
  if (!known) return tl::unexpected(known.error());
  // The start that measured it saw these bits twice.
  if (*known) return {};
  if (Status proven = ProveBits(tokens, bits); !proven) return proven;
  return MeasureGrid(options);
}

Result<bool> LlamaEngine::FindKnownGrid(const LlamaOptions& options) {
  if (options.grid_tokens > 0 || !options.find_grid) return false;
  const auto facts = GridFacts();
  if (!facts) return tl::unexpected(facts.error());
  const size_t known_tokens = options.find_grid(*facts);
  if (known_tokens == 0) return false;
  traits_.grid_tokens = known_tokens;
  traits_.grid_measured = true;
  return true;
}

void LlamaEngine::ProveTransport(const LogSink& log) {
  const auto warn = [&](const std::string& what, const Status& proven) {
    if (log) log(LogLevel::kWarning, what + " are not used: " + proven.error().message);
  };
  traits_.whole_states = WholeStatesMayBeTried(info_.architecture);
  if (traits_.whole_states) {
    if (Status proven = ProveWholeStates(kProbeSeq); !proven) {
      traits_.whole_states = false;
      warn("whole states", proven);
    }
  }
  traits_.segments =
      unified_ && traits_.kv_bytes_per_token > 0 && SegmentsVerified(info_.architecture);
  if (!traits_.segments) return;
  if (Status proven = ProveSegments(kProbeSeq); !proven) {
    traits_.segments = false;
    warn("segments", proven);
  }
}

Status LlamaEngine::MeasureGrid(const LlamaOptions& options) {
  if (options.grid_tokens > 0) {
    traits_.grid_tokens = options.grid_tokens;
    return {};
  }
  traits_.grid_tokens = kUsualGridTokens;
  if (!options.measure_grid) return {};
  const SteadyClock clock;
  const GridProbe probe =
      ProbeGrid(this, kProbeSeq, clock,
                {options.grid_probe_ms_max, options.find_smallest_grid, options.probe_progress});
  traits_.grid_tokens = probe.finished ? probe.grid_tokens : kUsualGridTokens;
  traits_.grid_measured = probe.finished;
  // What the probe left in the buffers must not be found by anything.
  llama_memory_clear(llama_get_memory(context()), true);
  return {};
}

}  // namespace cairn
