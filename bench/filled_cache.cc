#include "filled_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace cairn::bench {
namespace {

// The size of a real model's vocabulary.
constexpr uint64_t kVocabularySize = 150'000;
// A conversation's KV is stored in segments as long as a turn.
constexpr size_t kSegmentTokens = 1000;
constexpr size_t kSegmentBytes = 64;
constexpr size_t kCheckpointsPerTurn = 5;

size_t Budget(const BenchSizes& sizes, FilledCache::Room room) {
  if (room == FilledCache::Room::kPlenty) return size_t{1} << 40;
  const size_t checkpoints = sizes.conversations * sizes.conversation_checkpoints;
  const size_t tokens = sizes.header_tokens + sizes.conversations * sizes.conversation_tokens;
  // A node for each checkpoint, and the one at the divergence of the conversations.
  const size_t trees = PrefixTree::BytesOf(tokens) + checkpoints * PrefixTree::NodeBytes();
  // All checkpoints fit, and one more does not.
  return trees + (checkpoints + 1) * kSnapshotBytes - 1;
}

}  // namespace

FilledCache::FilledCache(const BenchSizes& sizes, std::string_view eviction, Room room) {
  CacheOptions options;
  options.ram_bytes_max = Budget(sizes, room);
  auto policy = MakeEviction(eviction);
  auto placement = MakePlacement("none");
  CHECK(policy.has_value() && placement.has_value());
  cache_ = std::make_unique<CheckpointCache>(options, std::move(*placement), std::move(*policy),
                                             MakeRamStore());
  Tokens header(sizes.header_tokens);
  for (Token& token : header) token = AnyToken();
  for (size_t i = 0; i < sizes.conversations; ++i) {
    Tokens prompt = header;
    while (prompt.size() < sizes.header_tokens + sizes.conversation_tokens) {
      prompt.push_back(AnyToken());
    }
    StoreCheckpoints(prompt, sizes);
    if (room == Room::kPlenty) StoreSegments(prompt);
    prompts_.push_back(std::move(prompt));
  }
}

Token FilledCache::AnyToken() {
  return static_cast<Token>(random_() % kVocabularySize);
}

// Stores checkpoints at equal distances from the end of the system prefix to the prompt's end.
void FilledCache::StoreCheckpoints(const Tokens& prompt, const BenchSizes& sizes) {
  const size_t count = sizes.conversation_checkpoints;
  for (size_t i = 1; i <= count; ++i) {
    const size_t position = sizes.header_tokens + sizes.conversation_tokens * i / count;
    Checkpoint checkpoint;
    checkpoint.checkpoint_class =
        i % kCheckpointsPerTurn == 0 ? CheckpointClass::kPrompt : CheckpointClass::kTurn;
    checkpoint.turns = i / kCheckpointsPerTurn;
    const auto inserted = cache_->Insert(kNamespace, TokenSpan(prompt).first(position), checkpoint,
                                         Bytes(kSnapshotBytes));
    CHECK(inserted.has_value());
  }
}

void FilledCache::StoreSegments(const Tokens& prompt) {
  for (size_t end = 0; end < prompt.size();) {
    end = std::min(end + kSegmentTokens, prompt.size());
    const TokenSpan tokens = TokenSpan(prompt).first(end);
    Provenance provenance;
    provenance.clean = end;
    for (const SegmentGap& gap : cache_->MissingSegments(kNamespace, tokens, provenance)) {
      const Status inserted =
          cache_->InsertSegment(kNamespace, tokens, provenance, gap, Bytes(kSegmentBytes));
      CHECK(inserted.has_value());
    }
  }
}

Tokens FilledCache::Diverged(size_t prompt, size_t same, size_t tokens) {
  const Tokens& source = prompts_[prompt % prompts_.size()];
  CHECK(same <= tokens && same <= source.size());
  Tokens diverged(source.begin(), source.begin() + static_cast<ptrdiff_t>(same));
  while (diverged.size() < tokens) diverged.push_back(AnyToken());
  return diverged;
}

CheckpointId FilledCache::Insert(TokenSpan prefix, Bytes snapshot) {
  Checkpoint checkpoint;
  checkpoint.checkpoint_class = CheckpointClass::kTurn;
  const auto id = cache_->Insert(kNamespace, prefix, checkpoint, std::move(snapshot));
  CHECK(id.has_value());
  return *id;
}

}  // namespace cairn::bench
