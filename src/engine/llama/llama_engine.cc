#include "engine/llama/llama_engine.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/batch_probe.h"
#include "engine/embed/embedding_architectures.h"
#include "engine/llama/backend/cpu_kernels.h"
#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/backend/rpc_backend.h"
#include "engine/llama/fit/device_fit.h"
#include "engine/llama/model/llama_adapters.h"
#include "engine/llama/model/llama_sampler.h"
#include "engine/llama/model/llama_vocabulary.h"
#include "engine/llama/model/loaded_model.h"
#include "engine/llama/model/model_devices.h"
#include "engine/llama/model/model_info.h"
#include "engine/llama/mtp/llama_mtp.h"
#include "engine/llama/mtp/mtp_part.h"
#include "engine/llama/proof/device_proof.h"
#include "engine/llama/state/llama_full_states.h"
#include "engine/llama/state/llama_identity.h"
#include "engine/llama/state/llama_segments.h"
#include "engine/llama/state/llama_sequences.h"
#include "engine/llama/state/llama_spliced_segments.h"
#include "engine/llama/state/traits_probe.h"

namespace cairn {
namespace {

// These callbacks are invalid once the model is loaded.
LlamaOptions WithoutCallbacks(LlamaOptions options) {
  options.progress = nullptr;
  options.probe_progress = nullptr;
  options.find_grid = nullptr;
  return options;
}

// Computes the identity's bits of a chunk anew, where a device other than the CPU computes.
Status ProveChunk(LlamaEngine* engine, LlamaIdentity* identity) {
  if (!engine->traits().on_device) return {};
  DeviceProof proof(engine, LlamaIdentity::kProbeSeq,
                    identity->ProbeTokens(DeviceProof::TokenCount(*engine)));
  const auto first = proof.ColdHash();
  const auto second = first ? proof.ColdHash() : first;
  if (!second) return tl::unexpected(second.error());
  identity->SetProvenChunk(*first, *second);
  return {};
}

// See Engine::StopDecodesIf.
bool DecodesStop(void* engine) {
  return static_cast<const Engine*>(engine)->decodes_stop();
}

// After the model was loaded again: checks whether earlier states may still be restored.
// `expected`: the identity's text of the first load.
Status ProveTheSame(LlamaEngine* engine, LlamaIdentity* identity, LlamaSequences* sequences,
                    const std::string& expected) {
  const Tokens tokens = identity->ProbeTokens();
  const auto hash = identity->DecodeProbe(tokens);
  if (!hash) return tl::unexpected(hash.error());
  if (Status proven = identity->ProveBits(tokens, *hash); !proven) return proven;
  if (Status proven = ProveChunk(engine, identity); !proven) return proven;
  sequences->ClearAll();
  const auto text = engine->StateIdentity();
  if (!text) return tl::unexpected(text.error());
  if (*text == expected) return {};
  return Fail(ErrorCode::kUnavailable,
              "'" + engine->info().path +
                  "' or what computes it has changed since it was first loaded; "
                  "start the server anew");
}

}  // namespace

struct LlamaEngine::Parts {
  Parts(LoadedModel loaded_model, LlamaVocabulary model_vocabulary, const LlamaOptions& asked,
        ModelKinds asked_kinds)
      : options(WithoutCallbacks(asked)),
        kinds(asked_kinds),
        loaded(std::move(loaded_model)),
        vocabulary(std::move(model_vocabulary)),
        info(DescribeModel(loaded.model(), vocabulary, options.model_path)),
        sequences(&loaded, &traits, info.vocab_size),
        segments(&loaded, &traits, &sequences, [this] { return cells(); }),
        spliced_segments(&loaded, &traits, &sequences),
        full_states(&loaded, &traits, &sequences, [this] { return cells(); }),
        identity(options, &loaded, &info, &traits, &sequences) {
    sequences.NotifyOfChanges([this](SeqId seq) { spliced_segments.OnChanged(seq); });
  }

  size_t cells() const {
    const size_t all = loaded.context_tokens() * loaded.slots();
    // A recurrent state takes the same room however many tokens it was computed from.
    if (traits.kv_bytes_per_token == 0) return all;
    return std::min(loaded.context_cells(), all);
  }

  // Assemble without the KV of the heads.
  Status Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> wanted, size_t position,
                  std::optional<ByteSpan> snapshot) {
    if (!traits.one_buffer) {
      return spliced_segments.Assemble(seq, keep, wanted, position, snapshot.value_or(ByteSpan()));
    }
    return segments.Assemble(seq, keep, wanted, position, snapshot);
  }

  const LlamaOptions options;
  const ModelKinds kinds;
  LoadedModel loaded;
  const LlamaVocabulary vocabulary;
  ModelInfo info;
  MemoryTraits traits;
  LlamaSequences sequences;
  LlamaSegments segments;
  LlamaSplicedSegments spliced_segments;
  LlamaFullStates full_states;
  LlamaIdentity identity;
  LlamaAdapters adapters{&loaded};
  LlamaMtp mtp{&loaded};
  std::string loaded_identity;  // the identity's text at load, if the model may be unloaded
  DrySamplers dry_samplers;
  KeptGrammarStates grammars;
  std::shared_ptr<const TokenTexts> texts;  // read when a grammar first needs them
};

namespace {

constexpr std::string_view kLeavesAmx =
    "ggml's kernels for this CPU's AMX compute this model wrongly where several tokens are decoded "
    "together: it is loaded without them, as with --no-repack";

// Whether AMX multiplies the weights of a model with recurrent layers, and wrongly: with ggml 0.27
// the product is that of the first sequence alone on qwen35 and lfm2, and on jamba wrong for any 32
// tokens.
Result<bool> AmxIsWrong(const LoadedModel& loaded, const LlamaOptions& options, Engine* engine) {
  const bool has_states =
      llama_model_is_recurrent(loaded.model()) || llama_model_is_hybrid(loaded.model());
  if (!has_states || !options.repack || !CpuUsesAmx()) return false;
  // A smaller ubatch is multiplied without tiles; of a smaller context TraitsProbe says so.
  const size_t room = std::min(loaded.ubatch_tokens(), loaded.context_tokens());
  auto mixes = room < kTiledChunkTokens ? Result<bool>(false) : MixesUpTokens(engine);
  if (!mixes || *mixes || loaded.slots() < 2) return mixes;
  return MixesUpSequences(engine);
}

}  // namespace

Result<std::unique_ptr<LlamaEngine>> LlamaEngine::Load(const LlamaOptions& asked,
                                                       ModelKinds kinds) {
  LlamaOptions options = asked;
  // A single sequence has a stream of its own either way.
  if (options.slots == 1) options.unified = true;
  InitLlamaBackend(options.log);
  if (Status added = AddRpcWorkers(options.rpc_workers, options.rpc_beyond_loopback); !added) {
    return tl::unexpected(added.error());
  }
  const std::vector<GpuDevice> gpus = ListGpus(options.devices);
  if (options.tensor_split.empty() && !options.rpc_workers.empty()) {
    options.tensor_split = SplitByMemory(gpus);
  }
  const std::string fitted = ApplyFit(gpus, &options);
  if (!fitted.empty() && options.note_sink()) options.note_sink()(LogLevel::kInfo, fitted);
  auto loaded = LoadedModel::Load(options, kinds);
  if (!loaded) return tl::unexpected(loaded.error());
  auto vocabulary = options.may_sleep ? LlamaVocabulary::LoadAlone(options)
                                      : Result<LlamaVocabulary>(LlamaVocabulary(loaded->model()));
  if (!vocabulary) return tl::unexpected(vocabulary.error());
  std::unique_ptr<LlamaEngine> engine(new LlamaEngine(
      std::make_unique<Parts>(std::move(*loaded), std::move(*vocabulary), options, kinds)));
  Parts& parts = *engine->parts_;
  llama_set_abort_callback(parts.loaded.context(), DecodesStop, static_cast<Engine*>(engine.get()));
  parts.info.devices_text = DevicesText(
      gpus, ListGpus(options.devices), options.gpu_layers,
      static_cast<size_t>(llama_model_n_layer(parts.loaded.model())), parts.loaded.layer_places());
  KeepRpcWorkersAlive(options.rpc_workers);
  const auto is_wrong = AmxIsWrong(parts.loaded, options, engine.get());
  if (!is_wrong) return tl::unexpected(is_wrong.error());
  if (*is_wrong) {
    if (options.note_sink()) options.note_sink()(LogLevel::kWarning, std::string(kLeavesAmx));
    engine.reset();
    LlamaOptions plain = asked;
    plain.repack = false;
    return Load(plain, kinds);
  }
  TraitsProbe probe({&parts.loaded, &parts.info, &parts.sequences, &parts.segments,
                     &parts.spliced_segments, &parts.full_states, &parts.identity},
                    engine.get(), &parts.traits);
  if (!IsEncoder(parts.info.architecture)) {
    if (Status measured = probe.Measure(options); !measured) {
      return tl::unexpected(measured.error());
    }
  } else {
    parts.traits.grid_measured = true;  // there is none to look for
  }
  if (parts.mtp.on() && parts.traits.NeedsSnapshots()) {
    parts.traits.snapshot_bytes += parts.mtp.row_bytes() + sizeof(MtpTrailer);
  }
  if (Status described = parts.adapters.Describe(options); !described) {
    return tl::unexpected(described.error());
  }
  if (!options.may_sleep) return engine;
  auto identity = engine->StateIdentity();
  if (!identity) return tl::unexpected(identity.error());
  parts.loaded_identity = std::move(*identity);
  return engine;
}

LlamaEngine::LlamaEngine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

LlamaEngine::~LlamaEngine() = default;

const ModelInfo& LlamaEngine::info() const {
  return parts_->info;
}

const MemoryTraits& LlamaEngine::traits() const {
  return parts_->traits;
}

size_t LlamaEngine::context_tokens() const {
  return parts_->loaded.context_tokens();
}

size_t LlamaEngine::slots() const {
  return parts_->loaded.slots();
}

size_t LlamaEngine::cells() const {
  return parts_->cells();
}

size_t LlamaEngine::chunk_tokens_max() const {
  return parts_->loaded.ubatch_tokens();
}

Result<std::string> LlamaEngine::StateIdentity() const {
  return parts_->identity.Text();
}

Result<std::string> LlamaEngine::GridFacts() const {
  return parts_->identity.GridFacts();
}

llama_model* LlamaEngine::model() const {
  return parts_->loaded.model();
}

Result<Tokens> LlamaEngine::Tokenize(std::string_view text, bool add_special,
                                     bool parse_special) const {
  return parts_->vocabulary.Tokenize(text, add_special, parse_special);
}

std::string LlamaEngine::Piece(Token token, bool special) const {
  return parts_->vocabulary.Piece(token, special);
}

bool LlamaEngine::IsEndOfGeneration(Token token) const {
  return parts_->vocabulary.IsEndOfGeneration(token);
}

Status LlamaEngine::Decode(SeqId seq, size_t position, TokenSpan tokens) {
  Status decoded = parts_->sequences.Decode(seq, position, tokens);
  if (decoded && parts_->mtp.on()) parts_->mtp.OnDecoded(NextTokens(seq, position, tokens));
  return decoded;
}

Status LlamaEngine::DecodeEach(std::span<const NextToken> tokens) {
  Status decoded = parts_->sequences.DecodeEach(tokens);
  if (decoded) parts_->mtp.OnDecoded(tokens);
  return decoded;
}

Status LlamaEngine::DecodeChunks(std::span<const SeqChunk> chunks, ChunkLogits logits) {
  std::vector<NextToken> tokens;
  for (const SeqChunk& chunk : chunks) {
    const auto next = NextTokens(chunk.seq, chunk.position, chunk.tokens);
    tokens.insert(tokens.end(), next.begin(), next.end());
  }
  Status decoded = parts_->sequences.DecodeChunks(tokens, logits);
  if (decoded && parts_->mtp.on()) parts_->mtp.OnDecoded(tokens);
  return decoded;
}

std::span<const float> LlamaEngine::LogitsOf(size_t index) const {
  return parts_->sequences.LogitsAt(index == kLastRow ? -1 : static_cast<int32_t>(index));
}

Result<Bytes> LlamaEngine::TakeSnapshot(SeqId seq) {
  auto snapshot = parts_->sequences.TakeSnapshot(seq);
  if (!snapshot || !parts_->mtp.on()) return snapshot;
  const size_t end = parts_->loaded.SequenceEnd(seq);
  AppendMtpPart({{}, parts_->mtp.RowAt(seq, end), end}, &*snapshot);
  return snapshot;
}

Status LlamaEngine::Restore(SeqId seq, size_t position, ByteSpan snapshot) {
  if (!parts_->mtp.on()) return parts_->sequences.Restore(seq, position, snapshot);
  const SplitState split = SplitOffMtpPart(snapshot);
  Status restored = parts_->sequences.Restore(seq, position, split.model);
  parts_->mtp.CutTo(seq, restored ? position : 0);
  if (restored) parts_->mtp.SetRow(seq, position, split.heads.row);
  return restored;
}

bool LlamaEngine::CanTruncate(SeqId seq, size_t position) const {
  return parts_->sequences.CanTruncate(seq, position);
}

Status LlamaEngine::Truncate(SeqId seq, size_t position) {
  Status cut = parts_->sequences.Truncate(seq, position);
  parts_->mtp.CutTo(seq, cut ? position : 0);
  return cut;
}

Status LlamaEngine::RollBack(SeqId seq, size_t position) {
  Status rolled = parts_->sequences.RollBack(seq, position);
  parts_->mtp.CutTo(seq, rolled ? position : 0);
  return rolled;
}

void LlamaEngine::Clear(SeqId seq) {
  parts_->sequences.Clear(seq);
  parts_->mtp.CutTo(seq, 0);
  parts_->loaded.media_positions().CutTo(seq, 0);
}

Status LlamaEngine::DecodeMedium(SeqId seq, size_t position, TokenSpan tokens,
                                 const EncodedPiece& piece) {
  CHECK(tokens.size() == piece.rows);
  Status decoded = parts_->sequences.DecodeMedium(seq, position, piece);
  if (decoded) parts_->mtp.BeginAt(seq, position + piece.rows);
  return decoded;
}

void LlamaEngine::SetMedia(SeqId seq, TokenSpan tokens) {
  parts_->loaded.media_positions().Set(seq, tokens);
}

Result<Bytes> LlamaEngine::TakeSegment(SeqId seq, size_t begin, size_t end) {
  auto segment = parts_->traits.one_buffer ? parts_->segments.TakeSegment(seq, begin, end)
                                           : parts_->spliced_segments.TakeSegment(seq, begin, end);
  if (!segment || !parts_->mtp.on()) return segment;
  const auto kv = parts_->mtp.TakeKv(seq, begin, end);
  if (!kv) return tl::unexpected(kv.error());
  const MtpPart part = {*kv, parts_->mtp.RowAt(seq, end), end};
  AppendMtpPart(part, &*segment);
  return segment;
}

Status LlamaEngine::Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> parts,
                             size_t position, std::optional<ByteSpan> snapshot) {
  if (!parts_->mtp.on()) return parts_->Assemble(seq, keep, parts, position, snapshot);
  // Each part goes to the model and to the heads when it is loaded.
  parts_->mtp.CutTo(seq, keep);
  std::vector<SegmentPart> of_model(parts.begin(), parts.end());
  for (size_t i = 0; i < parts.size(); ++i) {
    of_model[i].load = [this, seq, part = &parts[i]]() -> Result<ByteSpan> {
      auto bytes = part->Load();
      if (!bytes) return bytes;
      const SplitState split = SplitOffMtpPart(*bytes);
      parts_->mtp.SetKv(seq, part->begin, part->end, split.heads.kv);
      const bool is_whole = split.heads.position == part->end;
      if (is_whole) parts_->mtp.SetRow(seq, part->end, split.heads.row);
      return split.model;
    };
  }
  const SplitState end = SplitOffMtpPart(snapshot.value_or(ByteSpan()));
  const auto of_end = snapshot ? std::optional(end.model) : std::nullopt;
  Status assembled = parts_->Assemble(seq, keep, of_model, position, of_end);
  if (!assembled) parts_->mtp.CutTo(seq, 0);
  if (assembled && !end.heads.row.empty()) parts_->mtp.SetRow(seq, position, end.heads.row);
  return assembled;
}

Status LlamaEngine::Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) {
  parts_->loaded.media_positions().Copy(from, to);
  const SplitState end = parts_->mtp.on() ? SplitOffMtpPart(snapshot) : SplitState{snapshot, {}};
  Status forked = parts_->traits.one_buffer
                      ? parts_->segments.Fork(from, to, position, end.model)
                      : parts_->spliced_segments.Fork(from, to, position, end.model);
  if (!forked) {
    parts_->mtp.CutTo(to, 0);
    return forked;
  }
  parts_->mtp.Fork(from, to, position);
  if (!end.heads.row.empty()) parts_->mtp.SetRow(to, position, end.heads.row);
  return forked;
}

void LlamaEngine::ReleaseTaken() {
  parts_->spliced_segments.Release();
}

Status LlamaEngine::Drop(SeqId seq, size_t begin, size_t end) {
  Status dropped = parts_->sequences.Drop(seq, begin, end);
  parts_->mtp.BeginAt(seq, dropped ? parts_->loaded.SequenceEnd(seq) : 0);
  return dropped;
}

Result<Bytes> LlamaEngine::TakeFullState(SeqId seq) {
  auto state = parts_->full_states.Take(seq);
  if (!state || !parts_->mtp.on()) return state;
  const size_t end = parts_->loaded.SequenceEnd(seq);
  const size_t begin = parts_->mtp.KnownFrom(seq);
  const auto kv = parts_->mtp.TakeKv(seq, begin, end);
  if (!kv) return tl::unexpected(kv.error());
  AppendMtpPart({*kv, parts_->mtp.RowAt(seq, end), begin}, &*state);
  return state;
}

Status LlamaEngine::SetFullState(SeqId seq, size_t position, ByteSpan state_bytes) {
  if (!parts_->mtp.on()) return parts_->full_states.Set(seq, position, state_bytes);
  const SplitState split = SplitOffMtpPart(state_bytes);
  Status set = parts_->full_states.Set(seq, position, split.model);
  const size_t begin = std::min(split.heads.position, position);
  parts_->mtp.BeginAt(seq, set ? begin : 0);
  if (!set) return set;
  parts_->mtp.SetKv(seq, begin, position, split.heads.kv);
  parts_->mtp.SetRow(seq, position, split.heads.row);
  return set;
}

MtpHeads* LlamaEngine::mtp_heads() {
  return parts_->mtp.on() ? &parts_->mtp : nullptr;
}

std::unique_ptr<Sampler> LlamaEngine::MakeSampler(const SamplingParams& params) {
  SampledModel model = {parts_->vocabulary.vocab(), parts_->vocabulary.size(), context_tokens(),
                        &parts_->dry_samplers};
  if (params.grammar != nullptr) {
    if (parts_->texts == nullptr) parts_->texts = parts_->vocabulary.ReadTexts();
    model.texts = parts_->texts;
    model.grammars = &parts_->grammars;
    for (const std::string& tag : params.grammar_tags) {
      const auto tokens = Tokenize(tag, false, true);
      if (tokens && tokens->size() == 1) model.tags.emplace_back(tokens->front(), tag);
    }
  }
  return MakeLlamaSampler(params, std::move(model));
}

AdapterSets* LlamaEngine::adapter_sets() const {
  return parts_->adapters.sets();
}

Status LlamaEngine::UseAdapters(AdapterSets::Number set) {
  return parts_->adapters.Use(set);
}

Status LlamaEngine::Sleep() {
  CHECK(parts_->loaded.is_loaded());
  if (!parts_->vocabulary.stays()) {
    return Fail(ErrorCode::kUnsupported, "the model was loaded to stay");
  }
  parts_->mtp.OnUnloaded();
  parts_->loaded.Unload();
  parts_->adapters.OnUnloaded();
  parts_->sequences.OnUnloaded();
  return {};
}

Status LlamaEngine::Wake() {
  CHECK(!parts_->loaded.is_loaded() && parts_->vocabulary.stays());
  const auto load = [this]() -> Result<LoadedModel> {
    try {
      return LoadedModel::Load(parts_->options, parts_->kinds);
    } catch (const std::bad_alloc&) {
      return Fail(ErrorCode::kUnavailable, "there is no memory for the model");
    }
  };
  auto loaded = load();
  if (!loaded) return tl::unexpected(loaded.error());
  if (loaded->context_cells() != parts_->loaded.context_cells() ||
      loaded->ubatch_tokens() != parts_->loaded.ubatch_tokens()) {
    return Fail(ErrorCode::kUnavailable, "the model's context is of another size than before");
  }
  parts_->loaded = std::move(*loaded);
  KeepRpcWorkersAlive(parts_->options.rpc_workers);
  parts_->identity.ForgetDigest();
  Status same = parts_->adapters.CheckFiles();
  if (same) {
    same = ProveTheSame(this, &parts_->identity, &parts_->sequences, parts_->loaded_identity);
  }
  if (!same) parts_->loaded.Unload();
  return same;
}

}  // namespace cairn
