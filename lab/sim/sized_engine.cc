#include "lab/sim/sized_engine.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/check.h"
#include "lab/sim/sized_store.h"

namespace cairn {
namespace {

// Returns the bytes of a gated delta net layer's recurrent state: a matrix per value head, and the
// last three columns of the convolution over keys, queries and values; f32, as libllama keeps it.
constexpr size_t DeltaNetBytes(size_t key_heads, size_t value_heads, size_t head_size) {
  const size_t matrices = value_heads * head_size * head_size;
  const size_t columns = 3 * (2 * key_heads + value_heads) * head_size;
  return (matrices + columns) * 4;
}

// Returns the bytes of a short convolution's last two columns, in f32.
constexpr size_t ShortConvBytes(size_t hidden_size) {
  return 2 * hidden_size * 4;
}

// Returns the bytes of one token's keys and values in one layer, in f16.
constexpr size_t KvBytes(size_t kv_heads, size_t head_size) {
  return size_t{2} * kv_heads * head_size * 2;
}

constexpr size_t kF32 = 4;
// PCIe 4.0 x16 gives about 25 GB/s; copies that are not in whole pages get about half of it.
constexpr double kMoveBytesPerS = 12e9;

constexpr std::array<ModelProfile, 6> kProfiles = {{
    {"qwen3.5-4b", "config.json: 24 delta-net and 8 attention layers, 16+32 heads of 128, 4 of 256",
     MemoryClass::kHybrid, 24 * DeltaNetBytes(16, 32, 128), 8 * KvBytes(4, 256), 0, 248320 * kF32,
     6000, kMoveBytesPerS},
    {"qwen3.5-35b-a3b",
     "config.json: 30 delta-net and 10 attention layers, 16+32 heads of 128, 2 of 256",
     MemoryClass::kHybrid, 30 * DeltaNetBytes(16, 32, 128), 10 * KvBytes(2, 256), 0, 248320 * kF32,
     3000, kMoveBytesPerS},
    {"qwen3.8-27b",
     "config.json: 48 delta-net and 16 attention layers, 16+48 heads of 128, 4 of 256; the "
     "snapshot is the 149.6 MiB that libllama takes",
     MemoryClass::kHybrid, 48 * DeltaNetBytes(16, 48, 128), 16 * KvBytes(4, 256), 0, 248320 * kF32,
     1000, kMoveBytesPerS},
    {"gemma-3-27b", "config.json: 52 layers with a window of 1,024 and 10 without, 16 heads of 128",
     MemoryClass::kSlidingWindow, 1024 * 52 * KvBytes(16, 128), 10 * KvBytes(16, 128), 1024,
     262208 * kF32, 1000, kMoveBytesPerS},
    {"gpt-oss-120b", "config.json: 18 layers with a window of 128 and 18 without, 8 heads of 64",
     MemoryClass::kSlidingWindow, 128 * 18 * KvBytes(8, 64), 18 * KvBytes(8, 64), 128,
     201088 * kF32, 1500, kMoveBytesPerS},
    {"lfm2-1.2b", "config.json: 10 convolution layers of 2,048 and 6 attention layers, 8 of 64",
     MemoryClass::kHybrid, 10 * ShortConvBytes(2048), 6 * KvBytes(8, 64), 0, 65536 * kF32, 10000,
     kMoveBytesPerS},
}};

// PromptOf() and AnswerOf() give no such token.
constexpr Token kEndOfAnswer = INT32_MAX;

class AnswerSampler final : public Sampler {
 public:
  explicit AnswerSampler(Tokens answer) : answer_(std::move(answer)) {}

  Token Sample(std::span<const float> /*logits*/) override {
    return drawn_ < answer_.size() ? answer_[drawn_++] : kEndOfAnswer;
  }

 private:
  const Tokens answer_;
  size_t drawn_ = 0;
};

}  // namespace

std::span<const ModelProfile> ModelProfiles() {
  return kProfiles;
}

Result<ModelProfile> FindModelProfile(std::string_view name) {
  const auto* const found =
      std::find_if(kProfiles.begin(), kProfiles.end(),
                   [&](const ModelProfile& profile) { return profile.name == name; });
  if (found != kProfiles.end()) return *found;
  std::string names;
  for (const ModelProfile& profile : kProfiles) {
    names.append(names.empty() ? "" : ", ").append(profile.name);
  }
  return Fail(ErrorCode::kInvalidArgument,
              "there is no model profile named '" + std::string(name) + "'; there are: " + names);
}

SizedEngine::SizedEngine(const Options& options, ManualClock* clock)
    : options_(options), clock_(clock), sequences_(options.slots), cells_(options.slots) {
  const ModelProfile& profile = options.profile;
  info_.name = profile.name;
  info_.architecture = "sized";
  info_.description = "sizes and speeds of " + info_.name;
  traits_.memory_class = profile.memory_class;
  traits_.snapshot_bytes = profile.snapshot_bytes;
  traits_.kv_bytes_per_token = profile.kv_bytes_per_token;
  traits_.window_tokens = profile.window_tokens;
  traits_.grid_tokens = kUsualGridTokens;
  traits_.segments = profile.memory_class != MemoryClass::kRecurrent;
}

Result<Tokens> SizedEngine::Tokenize(std::string_view /*text*/, bool /*add_special*/,
                                     bool /*parse_special*/) const {
  return Fail(ErrorCode::kInternal, "a model of sizes alone has no vocabulary");
}

std::string SizedEngine::Piece(Token /*token*/, bool /*special*/) const {
  return "";
}

bool SizedEngine::IsEndOfGeneration(Token token) const {
  return token == kEndOfAnswer;
}

size_t SizedEngine::WindowStart(size_t position) const {
  return position - std::min(position, traits_.window_tokens);
}

// A window that is not full takes fewer bytes.
size_t SizedEngine::SnapshotBytesAt(size_t position) const {
  if (traits_.window_tokens == 0) return traits_.snapshot_bytes;
  const size_t held = std::min(position, traits_.window_tokens);
  return traits_.snapshot_bytes / traits_.window_tokens * held;
}

Bytes SizedEngine::Take(size_t bytes) {
  moved_.taken_bytes += bytes;
  clock_->Advance(static_cast<double>(bytes) / options_.profile.move_bytes_per_s * kMsPerS);
  return ClaimBytes(bytes);
}

void SizedEngine::GiveBack(size_t bytes) {
  moved_.restored_bytes += bytes;
  clock_->Advance(static_cast<double>(bytes) / options_.profile.move_bytes_per_s * kMsPerS);
}

void SizedEngine::SetTo(SeqId seq, size_t position) {
  At(seq) = {position, WindowStart(position)};
  cells_.SetTokens(static_cast<size_t>(seq), position);
}

// A recurrent state takes no cells.
bool SizedEngine::HasRoomFor(size_t tokens) const {
  if (traits_.memory_class == MemoryClass::kRecurrent) return true;
  return cells_.used() + tokens <= options_.context_tokens;
}

Status SizedEngine::Decode(SeqId seq, size_t position, TokenSpan tokens) {
  Sequence& sequence = At(seq);
  CHECK(sequence.end == position);
  if (!HasRoomFor(tokens.size())) return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  sequence.end += tokens.size();
  cells_.SetTokens(static_cast<size_t>(seq), sequence.end);
  sequence.window_begin = std::max(sequence.window_begin, WindowStart(sequence.end));
  const auto read = static_cast<double>(tokens.size());
  clock_->Advance(read / options_.profile.prefill_tokens_per_s * kMsPerS);
  return {};
}

Status SizedEngine::DecodeEach(std::span<const NextToken> tokens) {
  for (const NextToken& next : tokens) {
    if (Status decoded = Decode(next.seq, next.position, {&next.token, 1}); !decoded) {
      return decoded;
    }
  }
  return {};
}

std::span<const float> SizedEngine::LogitsOf(size_t /*index*/) const {
  return logits_;
}

Result<Bytes> SizedEngine::TakeSnapshot(SeqId seq) {
  return Take(SnapshotBytesAt(At(seq).end));
}

Status SizedEngine::Restore(SeqId seq, size_t position, ByteSpan snapshot) {
  GiveBack(ClaimedBytes(snapshot));
  SetTo(seq, position);
  return {};
}

bool SizedEngine::CanTruncate(SeqId seq, size_t position) const {
  const Sequence& sequence = At(seq);
  if (position == sequence.end || position == 0) return true;
  if (position > sequence.end) return false;
  if (!traits_.NeedsSnapshots()) return true;
  return traits_.window_tokens > 0 && sequence.window_begin <= WindowStart(position);
}

Status SizedEngine::Truncate(SeqId seq, size_t position) {
  CHECK(CanTruncate(seq, position));
  Sequence& sequence = At(seq);
  sequence.end = position;
  cells_.SetTokens(static_cast<size_t>(seq), position);
  if (position == 0) sequence.window_begin = 0;
  return {};
}

void SizedEngine::Clear(SeqId seq) {
  At(seq) = {};
  cells_.SetTokens(static_cast<size_t>(seq), 0);
}

Result<Bytes> SizedEngine::TakeSegment(SeqId seq, size_t begin, size_t end) {
  CHECK(begin < end && end <= At(seq).end);
  return Take((end - begin) * traits_.kv_bytes_per_token + options_.profile.segment_bytes);
}

Status SizedEngine::Assemble(SeqId seq, size_t keep, std::span<const SegmentPart> /*parts*/,
                             size_t position, std::optional<ByteSpan> snapshot) {
  cells_.SetTokens(static_cast<size_t>(seq), keep);
  if (!HasRoomFor(position - keep)) {
    Clear(seq);
    return Fail(ErrorCode::kNoSpace, "other sequences are too long");
  }
  GiveBack((position - keep) * traits_.kv_bytes_per_token +
           (snapshot && !snapshot->empty() ? ClaimedBytes(*snapshot) : 0));
  SetTo(seq, position);
  return {};
}

Status SizedEngine::Fork(SeqId from, SeqId to, size_t position, ByteSpan snapshot) {
  CHECK(from != to && position <= At(from).end);
  if (!snapshot.empty()) GiveBack(ClaimedBytes(snapshot));
  cells_.Share(static_cast<size_t>(from), static_cast<size_t>(to), position);
  SetTo(to, position);
  return {};
}

Result<Bytes> SizedEngine::TakeFullState(SeqId /*seq*/) {
  return Fail(ErrorCode::kInternal, "a model of sizes alone has segments");
}

Status SizedEngine::SetFullState(SeqId /*seq*/, size_t /*position*/, ByteSpan /*whole*/) {
  return Fail(ErrorCode::kInternal, "a model of sizes alone has segments");
}

std::unique_ptr<Sampler> SizedEngine::MakeSampler(const SamplingParams& /*params*/) {
  return std::make_unique<AnswerSampler>(answer_);
}

}  // namespace cairn
