// Random use of the cache under every eviction policy, compared with a list of the stored objects.
// The policies choose the victims; after each step
//
//   - no pinned object is gone, and its bytes are unchanged;
//   - all that is held fits the budget, and the cache's own invariants hold;
//   - Match returns exactly those of the list that are still there, for every client.
//
// A failure is shrunk to a few steps.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cache/checkpoint_cache.h"

namespace cairn {
namespace {

enum class Kind {
  kInsert,
  kPin,
  kUnpin,
  kDiscard,
  kOffload,
  kGrow,
  kPinPath,
  kUnpinPath,
  kDiscardPath,
  kCount
};

constexpr const char* kNames[] = {"insert", "pin",      "unpin",      "discard",     "park",
                                  "grow",   "pin path", "unpin path", "discard path"};
static_assert(std::size(kNames) == static_cast<size_t>(Kind::kCount));

struct Step {
  Kind kind = Kind::kInsert;
  NamespaceId client = 0;
  Tokens tokens;
  Tokens asked;       // matched afterwards, for every client
  size_t number = 0;  // an index, a size or a length, as the step needs
};

std::string Text(const Tokens& tokens) {
  std::string text;
  for (const Token token : tokens) text += static_cast<char>('a' + token);
  return text;
}

// RapidCheck prints the shrunk case.
std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << kNames[static_cast<size_t>(step.kind)] << " " << step.client << ":"
             << Text(step.tokens) << " " << step.number << ", match " << Text(step.asked);
}

constexpr NamespaceId kClients = 2;

// Any number below `end`, whatever the size of the case: RapidCheck narrows ranges in small cases.
template <typename T>
rc::Gen<T> Below(T end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(0, end));
}

rc::Gen<Tokens> AnyTokens() {
  constexpr int kTokensMax = 12;
  return rc::gen::resize(kTokensMax,
                         rc::gen::nonEmpty(rc::gen::container<Tokens>(Below<Token>(2))));
}

rc::Gen<std::vector<Step>> AnySteps() {
  constexpr double kStepsForASize = 2;
  const auto kind = rc::gen::weightedElement<Kind>({{8, Kind::kInsert},
                                                    {3, Kind::kPin},
                                                    {3, Kind::kUnpin},
                                                    {1, Kind::kDiscard},
                                                    {4, Kind::kOffload},
                                                    {2, Kind::kGrow},
                                                    {2, Kind::kPinPath},
                                                    {2, Kind::kUnpinPath},
                                                    {1, Kind::kDiscardPath}});
  const auto step = rc::gen::build<Step>(
      rc::gen::set(&Step::kind, kind), rc::gen::set(&Step::client, Below<NamespaceId>(kClients)),
      rc::gen::set(&Step::tokens, AnyTokens()), rc::gen::set(&Step::asked, AnyTokens()),
      rc::gen::set(&Step::number, Below<size_t>(1000)));
  return rc::gen::scale(kStepsForASize, rc::gen::container<std::vector<Step>>(step));
}

bool BeginsWith(const Tokens& tokens, const Tokens& front) {
  return CommonPrefix(tokens, front) == front.size();
}

// The record of one checkpoint when it was stored.
struct Stored {
  CheckpointId id = 0;
  NamespaceId client = 0;
  Tokens tokens;
  size_t turns = 0;
  Bytes bytes;
  int pins = 0;
  ByteSpan pinned_bytes;
};

// A sequence whose KV is offloaded: clean up to `clean`, then of the run `lineage`.
struct Talk {
  NamespaceId client = 0;
  Tokens tokens;
  size_t clean = 0;
  LineageId lineage = 0;

  Provenance provenance() const {
    Provenance provenance{clean, {}, {}};
    if (clean < tokens.size()) provenance.runs = {{lineage, clean}};
    return provenance;
  }
  // One byte per token, determined by this token, this run and the tokens before it.
  uint8_t ByteAt(size_t position) const {
    uint64_t hash = client + (position < clean ? 0 : lineage) * 31;
    for (size_t i = 0; i <= position; ++i) hash = hash * 1099511628211U + tokens[i] + 1;
    return static_cast<uint8_t>(hash >> 24U);
  }
  Bytes BytesOf(size_t begin, size_t end) const {
    Bytes bytes;
    for (size_t i = begin; i < end; ++i) bytes.push_back(ByteAt(i));
    return bytes;
  }
};

struct Held {
  Talk talk;
  CheckpointCache::PinnedPath path;
};

class CacheAndList {
 public:
  CacheAndList(const CacheOptions& options, std::string_view eviction)
      : budget_(options.ram_bytes_max),
        cache_(options, *MakePlacement("none"), *MakeEviction(eviction), MakeRamStore()) {}

  void Do(const Step& step) {
    switch (step.kind) {
      case Kind::kInsert:
        return Insert(step);
      case Kind::kPin:
        return Pin(step);
      case Kind::kUnpin:
        return Unpin(step);
      case Kind::kDiscard:
        return Discard(step);
      case Kind::kOffload:
        talks_.push_back(
            {step.client, step.tokens, step.number % (step.tokens.size() + 1), talks_.size() + 1});
        return Offload(talks_.back(), step.number % 2 == 0);
      case Kind::kGrow:
        return Grow(step);
      case Kind::kPinPath:
        return PinPath(step);
      case Kind::kUnpinPath:
        return UnpinPath(step, false);
      case Kind::kDiscardPath:
        return UnpinPath(step, true);
      case Kind::kCount:
        return;
    }
  }

  void Expect(const Tokens& asked) {
    ExpectPinnedIsThere();
    ForgetWhatWentAway();
    const CacheStats stats = cache_.stats();
    RC_ASSERT(stats.bytes <= budget_);
    RC_ASSERT(stats.checkpoints == list_.size());
    for (NamespaceId client = 0; client < kClients; ++client) ExpectMatch(client, asked);
    cache_.CheckInvariants();
  }

  void LetGo() {
    for (Stored& stored : list_) {
      for (; stored.pins > 0; --stored.pins) cache_.Unpin(stored.id);
    }
    for (const Held& held : held_) cache_.UnpinPath(held.path);
    held_.clear();
  }

 private:
  bool IsThere(const Stored& stored) const {
    const auto match = cache_.Match(stored.client, stored.tokens);
    return !match.checkpoints.empty() && match.checkpoints.back().id == stored.id;
  }

  Stored* Pick(size_t number) { return list_.empty() ? nullptr : &list_[number % list_.size()]; }

  void Insert(const Step& step) {
    constexpr CheckpointClass kClasses[] = {CheckpointClass::kTurn,  CheckpointClass::kHeader,
                                            CheckpointClass::kQuery, CheckpointClass::kMark,
                                            CheckpointClass::kEnd,   CheckpointClass::kPrompt};
    Checkpoint what;
    what.checkpoint_class = kClasses[step.number % std::size(kClasses)];
    what.turns = step.number % 4;
    if (what.checkpoint_class == CheckpointClass::kEnd) what.logits_bytes = 1;
    const Bytes bytes(1 + step.number, static_cast<uint8_t>(++inserts_));
    InsertAs(step.client, step.tokens, what, bytes);
  }

  void InsertAs(NamespaceId client, const Tokens& tokens, const Checkpoint& what,
                const Bytes& bytes) {
    const auto id = cache_.Insert(client, tokens, what, bytes);
    if (!id) {
      RC_ASSERT(id.error().code == ErrorCode::kNoSpace);
      return;
    }
    // A better or a pinned checkpoint may have been kept instead.
    for (const Stored& stored : list_) {
      if (stored.id == *id) return;
    }
    list_.push_back({*id, client, tokens, what.turns, bytes, 0, {}});
    ever_.push_back(list_.back());
    RC_ASSERT(IsThere(list_.back()));
  }

  void Pin(const Step& step) {
    Stored* stored = Pick(step.number);
    if (stored == nullptr) return;
    const auto bytes = cache_.Pin(stored->id);
    RC_ASSERT(bytes.has_value());
    stored->pinned_bytes = *bytes;
    ++stored->pins;
  }

  void Unpin(const Step& step) {
    Stored* stored = Pick(step.number);
    if (stored == nullptr || stored->pins == 0) return;
    cache_.Unpin(stored->id);
    --stored->pins;
  }

  void Discard(const Step& step) {
    Stored* stored = Pick(step.number);
    if (stored == nullptr || stored->pins > 0) return;
    cache_.Discard(stored->id);
    RC_ASSERT(!IsThere(*stored));
  }

  // Stores the missing segments of a talk, and at the end of its run a checkpoint that consists of
  // its segments only.
  void Offload(const Talk& talk, bool reply) {
    const Provenance provenance = talk.provenance();
    for (const SegmentGap& gap : cache_.MissingSegments(talk.client, talk.tokens, provenance)) {
      const Status put = cache_.InsertSegment(talk.client, talk.tokens, provenance, gap,
                                              talk.BytesOf(gap.begin, gap.end));
      if (!put) return;
    }
    RC_ASSERT(cache_.Match(talk.client, talk.tokens).stored_on_grid >= talk.clean);
    if (!reply || talk.clean == talk.tokens.size()) return;
    Checkpoint what;
    what.checkpoint_class = CheckpointClass::kReply;
    what.lineage = talk.lineage;
    InsertAs(talk.client, talk.tokens, what, {});
  }

  // Extends a run and offloads it again.
  void Grow(const Step& step) {
    if (talks_.empty()) return;
    Talk& talk = talks_[step.number % talks_.size()];
    if (talk.clean == talk.tokens.size()) return;
    talk.tokens.insert(talk.tokens.end(), step.tokens.begin(), step.tokens.end());
    Offload(talk, step.number % 3 == 0);
  }

  void PinPath(const Step& step) {
    if (talks_.empty()) return;
    Talk talk = talks_[step.number % talks_.size()];
    talk.tokens.resize(1 + step.number % talk.tokens.size());
    talk.clean = std::min(talk.clean, talk.tokens.size());
    const bool clean = talk.clean == talk.tokens.size();
    const size_t stored = cache_.Match(talk.client, talk.tokens).stored_on_grid;
    const auto path = cache_.PinPath(talk.client, talk.tokens, clean ? 0 : talk.lineage);
    if (clean) RC_ASSERT(path.has_value() == (stored == talk.tokens.size()));
    if (!path) return;
    RC_ASSERT(path->provenance.clean == talk.clean);
    held_.push_back({talk, *path});
  }

  void UnpinPath(const Step& step, bool discard) {
    if (held_.empty()) return;
    const auto held = held_.begin() + static_cast<ptrdiff_t>(step.number % held_.size());
    cache_.UnpinPath(held->path);
    if (discard) cache_.DiscardPath(held->path);
    held_.erase(held);
  }

  void ExpectPinnedIsThere() {
    for (const Stored& stored : list_) {
      if (stored.pins == 0) continue;
      RC_ASSERT(IsThere(stored));
      RC_ASSERT(std::equal(stored.bytes.begin(), stored.bytes.end(), stored.pinned_bytes.begin(),
                           stored.pinned_bytes.end()));
    }
    for (const Held& held : held_) {
      size_t end = 0;
      for (const auto& part : held.path.parts) {
        RC_ASSERT(part.begin == end);
        end = part.end;
        const auto bytes = cache_.LoadPart(held.path, &part - held.path.parts.data());
        RC_ASSERT(bytes.has_value());
        RC_ASSERT(bytes->size() >= end - part.begin);
        const Bytes expected = held.talk.BytesOf(part.begin, end);
        RC_ASSERT(std::equal(expected.begin(), expected.end(), bytes->begin()));
      }
      RC_ASSERT(end == held.talk.tokens.size());
    }
  }

  void ForgetWhatWentAway() {
    std::erase_if(list_, [&](const Stored& stored) { return !IsThere(stored); });
  }

  void ExpectMatch(NamespaceId client, const Tokens& asked) const {
    const auto match = cache_.Match(client, asked);
    size_t shared = 0;
    std::vector<std::pair<size_t, CheckpointId>> expected;
    for (const Stored& stored : list_) {
      if (stored.client != client) continue;
      shared = std::max(shared, CommonPrefix(stored.tokens, asked));
      if (BeginsWith(asked, stored.tokens)) expected.emplace_back(stored.tokens.size(), stored.id);
    }
    std::sort(expected.begin(), expected.end());
    std::vector<std::pair<size_t, CheckpointId>> found;
    for (const Checkpoint& checkpoint : match.checkpoints) {
      found.emplace_back(checkpoint.position, checkpoint.id);
    }
    RC_ASSERT(match.shared == shared);
    RC_ASSERT(found == expected);
    ExpectStoredKv(client, asked, match.stored_on_grid);
    if (match.neighbour_tokens > 0) ExpectNeighbour(client, asked, match);
  }

  // The stored KV never exceeds what was ever offloaded for this client.
  void ExpectStoredKv(NamespaceId client, const Tokens& asked, size_t stored) const {
    size_t offloaded = 0;
    for (const Talk& talk : talks_) {
      if (talk.client != client) continue;
      offloaded = std::max(offloaded, std::min(talk.clean, CommonPrefix(talk.tokens, asked)));
    }
    RC_ASSERT(stored <= offloaded);
  }

  // The neighbour that Match reports was stored once, with that number of turns.
  void ExpectNeighbour(NamespaceId client, const Tokens& asked,
                       const CheckpointCache::MatchResult& match) const {
    RC_ASSERT(std::any_of(ever_.begin(), ever_.end(), [&](const Stored& stored) {
      return stored.client == client && stored.turns == match.neighbour_turns &&
             stored.tokens.size() == match.neighbour_tokens &&
             CommonPrefix(stored.tokens, asked) >= match.shared;
    }));
  }

  const size_t budget_;
  CheckpointCache cache_;
  std::vector<Stored> list_;  // the checkpoints that are there
  std::vector<Stored> ever_;  // all that were ever stored
  std::vector<Talk> talks_;
  std::vector<Held> held_;
  size_t inserts_ = 0;
};

RC_GTEST_PROP(CheckpointCacheProperty, HoldsBudgetAndPinsAndMatchesLikeAListUnderEveryEviction,
              ()) {
  const std::vector<PolicySummary> policies = EvictionSummaries();
  const std::vector<Step> steps = *AnySteps().as("steps");
  CacheOptions options;
  options.ram_bytes_max = 500 + *Below<size_t>(10'000).as("budget beyond 500 bytes");
  options.path_checkpoints_max = *rc::gen::element<size_t>(0, 3).as("checkpoints on a path");
  for (const PolicySummary& policy : policies) {
    RC_LOG() << "eviction " << policy.name << std::endl;
    CacheAndList both(options, policy.name);
    for (const Step& step : steps) {
      both.Do(step);
      both.Expect(step.asked);
    }
    both.LetGo();
    both.Expect({0});
  }
}

}  // namespace
}  // namespace cairn
