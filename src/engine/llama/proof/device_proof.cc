#include "engine/llama/proof/device_proof.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/hash.h"

namespace cairn {
namespace {

// As many as a short message has, and no multiple of a kernel's tile: with such chunks, cooperative
// matrices of ggml 0.27 on Mesa's software driver were seen to give other logits in each run.
constexpr size_t kTailTokens = 23;

uint64_t HashOf(std::span<const float> logits) {
  return Hash64(logits.data(), logits.size_bytes());
}

}  // namespace

size_t DeviceProof::TokenCount(const Engine& engine) {
  return std::min(engine.chunk_tokens_max() + kTailTokens, engine.context_tokens());
}

DeviceProof::DeviceProof(Engine* engine, SeqId seq, Tokens tokens)
    : engine_(engine), seq_(seq), tokens_(std::move(tokens)) {
  CHECK(tokens_.size() >= 2 && tokens_.size() <= TokenCount(*engine));
}

size_t DeviceProof::chunk_end() const {
  return tokens_.size() - std::min(kTailTokens, tokens_.size() / 2);
}

Status DeviceProof::DecodeChunk() {
  return engine_->Decode(seq_, 0, TokenSpan(tokens_).first(chunk_end()));
}

Result<std::vector<float>> DeviceProof::DecodeTail() {
  if (Status decoded = engine_->Decode(seq_, chunk_end(), TokenSpan(tokens_).subspan(chunk_end()));
      !decoded) {
    return tl::unexpected(decoded.error());
  }
  return std::vector<float>(engine_->Logits().begin(), engine_->Logits().end());
}

Result<DeviceProof::Found> DeviceProof::Run() {
  if (Status decoded = DecodeChunk(); !decoded) return tl::unexpected(decoded.error());
  const uint64_t of_chunk = HashOf(engine_->Logits());
  const auto states = TakeStates();
  if (!states) return tl::unexpected(states.error());
  const auto uninterrupted = DecodeTail();
  if (!uninterrupted) return tl::unexpected(uninterrupted.error());
  auto complaint = RestoreEach(*states, *uninterrupted);
  engine_->Clear(seq_);
  if (!complaint) return tl::unexpected(complaint.error());
  return Found{HashMix(of_chunk, HashOf(*uninterrupted)), std::move(*complaint)};
}

Result<uint64_t> DeviceProof::ColdHash() {
  if (Status decoded = DecodeChunk(); !decoded) return tl::unexpected(decoded.error());
  const uint64_t of_chunk = HashOf(engine_->Logits());
  const auto tail = DecodeTail();
  engine_->Clear(seq_);
  if (!tail) return tl::unexpected(tail.error());
  return HashMix(of_chunk, HashOf(*tail));
}

Result<DeviceProof::States> DeviceProof::TakeStates() {
  const MemoryTraits& traits = engine_->traits();
  States states;
  const auto take = [](Result<Bytes> taken, Bytes* bytes) -> Status {
    if (!taken) return tl::unexpected(taken.error());
    *bytes = std::move(*taken);
    return {};
  };
  Status taken;
  if (traits.NeedsSnapshots()) taken = take(engine_->TakeSnapshot(seq_), &states.snapshot);
  if (taken && traits.segments) {
    taken = take(engine_->TakeSegment(seq_, 0, chunk_end()), &states.segment);
    engine_->ReleaseTaken();
  }
  if (taken && traits.full_states) taken = take(engine_->TakeFullState(seq_), &states.full_state);
  if (!taken) return tl::unexpected(taken.error());
  return states;
}

Result<std::string> DeviceProof::RestoreEach(const States& states,
                                             const std::vector<float>& uninterrupted) {
  const MemoryTraits& traits = engine_->traits();
  std::vector<std::pair<std::string, std::function<Status()>>> ways;
  if (traits.NeedsSnapshots()) {
    ways.emplace_back("a snapshot",
                      [&] { return engine_->Restore(seq_, chunk_end(), states.snapshot); });
  } else if (engine_->CanTruncate(seq_, chunk_end())) {
    ways.emplace_back("a truncation", [&] { return engine_->Truncate(seq_, chunk_end()); });
  }
  if (traits.segments) {
    ways.emplace_back("a segment", [&] {
      const std::vector<SegmentPart> parts = {{0, chunk_end(), states.segment}};
      return engine_->Assemble(seq_, 0, parts, chunk_end(), states.snapshot);
    });
  }
  if (traits.full_states) {
    ways.emplace_back("a full state",
                      [&] { return engine_->SetFullState(seq_, chunk_end(), states.full_state); });
  }
  for (const auto& [way, restore] : ways) {
    if (Status restored = restore(); !restored) {
      return "after " + way + ": " + restored.error().message;
    }
    const auto tail = DecodeTail();
    if (!tail) return tl::unexpected(tail.error());
    if (!SameBits(*tail, uninterrupted)) return Explain(way);
  }
  return std::string();
}

Result<std::string> DeviceProof::Explain(const std::string& way) {
  engine_->Clear(seq_);
  const auto first = ColdHash();
  const auto second = first ? ColdHash() : first;
  if (!second) return tl::unexpected(second.error());
  const std::string chunk = "a chunk of " + std::to_string(chunk_end()) + " tokens";
  if (*first != *second) return "two cold runs of " + chunk + " have different logits";
  return "after " + way + " of " + chunk + " the logits are not those of an uninterrupted run";
}

}  // namespace cairn
