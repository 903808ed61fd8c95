#include "engine/llama/state/traits_probe.h"

#include <algorithm>
#include <string>

#include "base/clock.h"
#include "engine/grid_probe.h"
#include "engine/llama/model/model_devices.h"
#include "engine/verified_architectures.h"

namespace cairn {
namespace {

constexpr SeqId kProbeSeq = LlamaIdentity::kProbeSeq;
constexpr size_t kFirstTokens = LlamaIdentity::kFirstTokens;
constexpr size_t kProbeTokens = LlamaIdentity::kProbeTokens;

// `has_window`: the state that cannot be rolled back grows with the first tokens. The model's own
// metadata on a window is not reliable: some name one and keep everything all the same, and
// deepseek4 keeps one without naming it.
MemoryClass ClassOf(const llama_model* model, bool has_window) {
  if (llama_model_is_recurrent(model)) return MemoryClass::kRecurrent;
  if (llama_model_is_hybrid(model)) return MemoryClass::kHybrid;
  return has_window ? MemoryClass::kSlidingWindow : MemoryClass::kAttention;
}

}  // namespace

TraitsProbe::StateSizes TraitsProbe::SizesNow() const {
  llama_context* context = parts_.loaded->context();
  return {llama_state_seq_get_size_ext(context, kProbeSeq, LLAMA_STATE_SEQ_FLAGS_NONE),
          llama_state_seq_get_size_ext(context, kProbeSeq, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY)};
}

// Then sequences are truncated anywhere. But libllama writes only those of a window's rows that the
// last token attends to, so a sequence restored from them lacks the rows before.
bool TraitsProbe::KeepsWindowWhole() const {
  return traits_->memory_class == MemoryClass::kAttention &&
         SizesNow().partial > StateLayout::kFrontBytes;
}

Status TraitsProbe::Measure(const LlamaOptions& options) {
  const Tokens tokens = parts_.identity->ProbeTokens();
  if (tokens.size() <= kFirstTokens || parts_.loaded->ubatch_tokens() < kProbeTokens) {
    return Fail(ErrorCode::kInvalidArgument,
                "--ctx-size and --ubatch-size must be at least " + std::to_string(kProbeTokens));
  }
  LlamaSequences* const sequences = parts_.sequences;
  Status decoded = sequences->Decode(kProbeSeq, 0, TokenSpan(tokens).first(kFirstTokens));
  if (!decoded) return decoded;
  const StateSizes first = SizesNow();
  decoded = sequences->Decode(kProbeSeq, kFirstTokens, TokenSpan(tokens).subspan(kFirstTokens));
  if (!decoded) return decoded;
  const uint64_t hash = parts_.identity->HashOfLogits();
  const bool has_window = SetSizes(first, SizesNow(), tokens.size(), options.swa_full);
  if (has_window) sequences->KeepWindowInOrder();
  traits_->shifts = sequences->MayShift(parts_.info->architecture);
  ProveTransport(options.note_sink());
  sequences->Clear(kProbeSeq);
  parts_.identity->SetProvenBits(hash);
  if (Status proven = ProveOnDevice(options.note_sink()); !proven) return proven;
  const auto known = FindKnownGrid(options);
  if (!known) return tl::unexpected(known.error());
  // The start that measured it compared the bits of two runs.
  if (*known) return {};
  if (Status proven = parts_.identity->ProveBits(tokens, hash); !proven) return proven;
  if (Status proven = ProveChunkAgain(); !proven) return proven;
  MeasureGrid(options);
  return {};
}

bool TraitsProbe::SetSizes(const StateSizes& first, const StateSizes& all, size_t token_count,
                           bool swa_full) {
  const bool has_partial_state = all.partial < all.full;
  const size_t steps = token_count - kFirstTokens;
  const size_t partial_per_token = (all.partial - first.partial) / steps;
  const size_t full_per_token = (all.full - first.full) / steps;
  const bool has_window = has_partial_state && partial_per_token > 0 && !swa_full;
  traits_->one_buffer = parts_.loaded->unified();
  traits_->memory_class = ClassOf(parts_.loaded->model(), has_window);
  switch (traits_->memory_class) {
    case MemoryClass::kAttention:
      traits_->kv_bytes_per_token = full_per_token;
      break;
    case MemoryClass::kSlidingWindow:
      traits_->window_tokens = static_cast<size_t>(llama_model_n_swa(parts_.loaded->model()));
      traits_->kv_bytes_per_token = full_per_token - partial_per_token;
      traits_->snapshot_bytes =
          first.partial +
          partial_per_token * (std::max(traits_->window_tokens, kProbeTokens) - kFirstTokens);
      break;
    case MemoryClass::kRecurrent:
      traits_->snapshot_bytes = all.partial;
      break;
    case MemoryClass::kHybrid:
      traits_->kv_bytes_per_token = full_per_token - partial_per_token;
      traits_->snapshot_bytes = all.partial;
      break;
  }
  if (traits_->snapshot_bytes > 0) traits_->snapshot_bytes += LlamaSequences::kSnapshotHeaderBytes;
  traits_->rollback_tokens = parts_.sequences->RollbackTokens();
  // The cells of a window are kept in the order of one sequence's tokens (window_order.h).
  traits_->chunks_together = traits_->memory_class != MemoryClass::kSlidingWindow;
  return has_window;
}

Status TraitsProbe::ProveOnDevice(const LogSink& log) {
  traits_->on_device = !ListGpus().empty();
  if (!traits_->on_device) return {};
  DeviceProof proof = ProofOfChunk();
  const auto found = proof.Run();
  if (!found) return tl::unexpected(found.error());
  chunk_hash_ = found->hash;
  parts_.identity->SetProvenChunk(chunk_hash_, chunk_hash_);
  traits_->restores_bits = found->complaint.empty();
  if (!traits_->restores_bits && log) {
    log(LogLevel::kWarning,
        "this device does not compute the same bits again: " + found->complaint);
  }
  return {};
}

Status TraitsProbe::ProveChunkAgain() {
  if (!traits_->on_device) return {};
  const auto again = ProofOfChunk().ColdHash();
  if (!again) return tl::unexpected(again.error());
  parts_.identity->SetProvenChunk(chunk_hash_, *again);
  return {};
}

DeviceProof TraitsProbe::ProofOfChunk() const {
  return {engine_, kProbeSeq, parts_.identity->ProbeTokens(DeviceProof::TokenCount(*engine_))};
}

void TraitsProbe::SetGrid(const GridProbe& grid, bool measured) {
  traits_->grid_tokens = grid.grid_tokens;
  traits_->grid_measured = measured;
  // The cells of a window are filled anew as it moves on, from a position that depends on the cuts
  // before it. Where these are off the grid, cells lie otherwise in the blocks that attention adds
  // up, and once in a while a bit changes: seen with gemma3, in one of some thousand prompts.
  const bool has_window = traits_->memory_class == MemoryClass::kSlidingWindow;
  traits_->cuts_at_messages = grid.at_messages;
  traits_->exact_at_messages = grid.at_messages && !has_window;
  if (traits_->restores_bits) return;
  // No cut of a prompt is of use where a restored state goes on with other bits.
  traits_->grid_tokens = 0;
  traits_->grid_measured = true;
}

Result<bool> TraitsProbe::FindKnownGrid(const LlamaOptions& options) {
  if (options.grid_tokens > 0 || !options.find_grid || !traits_->restores_bits) return false;
  const auto facts = parts_.identity->GridFacts();
  if (!facts) return tl::unexpected(facts.error());
  const GridProbe known = options.find_grid(*facts);
  if (known.grid_tokens == 0) return false;
  SetGrid(known, /*measured=*/true);
  return true;
}

void TraitsProbe::ProveTransport(const LogSink& log) {
  const auto warn = [&](const std::string& what, const Status& proven) {
    if (log) log(LogLevel::kWarning, what + " are not used: " + proven.error().message);
  };
  const std::string& architecture = parts_.info->architecture;
  traits_->full_states = FullStatesMayBeTried(architecture);
  const bool keeps_window = KeepsWindowWhole();
  if (traits_->full_states && keeps_window) {
    const int32_t window = llama_model_n_swa(parts_.loaded->model());
    if (window > 0 && SegmentsVerified(architecture)) {
      traits_->window_tokens = static_cast<size_t>(window);
    } else {
      traits_->full_states = false;
      warn("full states",
           Fail(ErrorCode::kUnsupported,
                "with --swa-full, libllama writes a window of unknown length alone"));
    }
  }
  if (traits_->full_states) {
    if (Status proven = parts_.full_states->Prove(kProbeSeq); !proven) {
      traits_->full_states = false;
      warn("full states", proven);
    }
  }
  // Spliced segments abort nowhere. But the proof is on a few tokens, so what an architecture does
  // with longer sequences must be known.
  traits_->segments = traits_->kv_bytes_per_token > 0 && SegmentsVerified(architecture) &&
                      !keeps_window && (traits_->one_buffer || traits_->full_states);
  if (!traits_->segments) return;
  Status proven = traits_->one_buffer ? parts_.segments->Prove(kProbeSeq)
                                      : parts_.spliced_segments->Prove(kProbeSeq);
  if (!proven) {
    traits_->segments = false;
    warn("segments", proven);
  }
}

void TraitsProbe::MeasureGrid(const LlamaOptions& options) {
  GridProbe grid;
  grid.grid_tokens = options.grid_tokens > 0 ? options.grid_tokens : kUsualGridTokens;
  grid.at_messages = true;
  SetGrid(grid, /*measured=*/false);
  if (options.grid_tokens > 0 || !options.measure_grid || !traits_->restores_bits) return;
  const SteadyClock clock;
  const GridProbe probe =
      ProbeGrid(engine_, kProbeSeq, clock,
                {options.grid_probe_ms_max, options.find_smallest_grid, options.probe_progress});
  if (probe.finished) SetGrid(probe, /*measured=*/true);
  // Clears the buffers, so that no sequence can use the probe's rows.
  parts_.sequences->ClearAll();
}

}  // namespace cairn
