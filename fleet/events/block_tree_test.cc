#include "fleet/events/block_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

#include "fleet/events/pseudonymous_ids.h"
#include "testing/base/played_share.h"
#include "testing/events/event_consumer.h"

namespace cairn::block_tree_test {
namespace {

using test::EventConsumer;
using Kind = PrefixChange::Kind;

Tokens Letters(size_t count, Token letter) {
  return Tokens(count, letter);
}

PrefixChange PutOf(uint64_t part, Tokens tokens, PrefixTier tier = PrefixTier::kMemory) {
  PrefixChange change;
  change.part = part;
  change.tokens = std::move(tokens);
  change.tier = tier;
  change.resumable = true;
  return change;
}

class PartTableTest : public ::testing::Test {
 protected:
  void Apply(const PrefixChange& change) { parts_.Apply(change); }
  void Move(uint64_t part, PrefixTier tier) {
    PrefixChange change;
    change.kind = Kind::kMoved;
    change.part = part;
    change.tier = tier;
    Apply(change);
  }
  void Remove(uint64_t part) {
    PrefixChange change;
    change.kind = Kind::kGone;
    change.part = part;
    Apply(change);
  }
  // Publishes the changes, and returns the events.
  std::vector<KvEvent> Publish(size_t blocks_max = SIZE_MAX) {
    std::vector<KvEvent> all;
    while (tree_.has_events()) {
      for (KvEvent& event : tree_.NextEvents(blocks_max)) {
        consumer_.Apply(event);
        all.push_back(std::move(event));
      }
      tree_.CheckInvariants();
    }
    return all;
  }
  // The number of blocks that the consumer knows in a tier.
  size_t Known(PrefixTier tier) const {
    size_t count = 0;
    for (const auto& [of, ids] : consumer_.prefixes()) count += of == tier ? 1 : 0;
    EXPECT_EQ(count, tree_.published().at(static_cast<size_t>(tier)));
    return count;
  }

  BlockTree tree_{TokenIds()};
  PartTable parts_{&tree_};
  EventConsumer consumer_;
};

TEST_F(PartTableTest, PublishesWholeBlocksOfAPart) {
  Apply(PutOf(1, Letters(200, 'a')));
  const std::vector<KvEvent> events = Publish();
  ASSERT_EQ(events.size(), 1u) << "blocks that follow one another are one event";
  EXPECT_EQ(events[0].blocks.size(), 3u);
  EXPECT_FALSE(events[0].parent.has_value());
  EXPECT_EQ(events[0].token_ids, std::vector<uint32_t>(192, 'a'));
  EXPECT_EQ(Known(PrefixTier::kMemory), 3u);
}

TEST_F(PartTableTest, PublishesASharedPrefixOnce) {
  Apply(PutOf(1, Letters(128, 'a')));
  Publish();
  PrefixChange fork = PutOf(2, Letters(100, 'b'));
  fork.base = 1;
  fork.begin = 100;
  Apply(fork);
  const std::vector<KvEvent> events = Publish();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].blocks.size(), 2u);
  EXPECT_TRUE(events[0].parent.has_value());
  Remove(1);
  Publish();
  EXPECT_EQ(Known(PrefixTier::kMemory), 3u) << "the fork has the first block too";
  Remove(2);
  Publish();
  EXPECT_EQ(Known(PrefixTier::kMemory), 0u);
  EXPECT_EQ(tree_.blocks(), 0u);
  EXPECT_EQ(parts_.size(), 0u);
}

TEST_F(PartTableTest, WhatComesAndGoesBetweenTwoBatchesIsNotPublished) {
  Apply(PutOf(1, Letters(128, 'a')));
  Remove(1);
  EXPECT_TRUE(Publish().empty());
  EXPECT_EQ(tree_.blocks(), 0u);
}

TEST_F(PartTableTest, APartLiesInTheSlowerTierOfItsBaseAndItself) {
  Apply(PutOf(1, Letters(64, 'a')));
  PrefixChange upper = PutOf(2, Letters(64, 'b'));
  upper.base = 1;
  upper.begin = 64;
  upper.needs_base = true;
  Apply(upper);
  PrefixChange checkpoint = PutOf(3, {});
  checkpoint.base = 2;
  checkpoint.begin = 128;
  checkpoint.needs_base = true;
  Apply(checkpoint);
  Publish();
  EXPECT_EQ(Known(PrefixTier::kMemory), 2u);
  Move(1, PrefixTier::kDisk);
  const std::vector<KvEvent> moved = Publish();
  EXPECT_EQ(Known(PrefixTier::kMemory), 0u);
  EXPECT_EQ(Known(PrefixTier::kDisk), 2u);
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved[0].kind, KvEvent::Kind::kStored) << "first there, then gone here";
  Move(1, PrefixTier::kMemory);
  Move(3, PrefixTier::kDisk);
  Publish();
  EXPECT_EQ(Known(PrefixTier::kMemory), 2u);
  EXPECT_EQ(Known(PrefixTier::kDisk), 2u);
}

TEST_F(PartTableTest, ASlotKeepsTheBeginningOfItsContent) {
  const uint64_t slot = 9;
  Apply(PutOf(slot, Letters(192, 'a'), PrefixTier::kSlot));
  Publish();
  PrefixChange truncated = PutOf(slot, Letters(128, 'b'), PrefixTier::kSlot);
  truncated.base = slot;
  truncated.begin = 64;
  Apply(truncated);
  Publish();
  EventConsumer::Ids ids(64, 'a');
  ids.resize(192, 'b');
  EXPECT_EQ(Known(PrefixTier::kSlot), 3u);
  EXPECT_TRUE(consumer_.prefixes().contains({PrefixTier::kSlot, ids}));
}

TEST_F(PartTableTest, ALargeSetIsPublishedInPartsAndItsRemovalsLast) {
  Apply(PutOf(1, Letters(640, 'a')));
  Publish();
  Remove(1);
  Apply(PutOf(2, Letters(640, 'b')));
  const std::vector<KvEvent> first = tree_.NextEvents(4);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].kind, KvEvent::Kind::kStored);
  EXPECT_EQ(first[0].blocks.size(), 4u);
  consumer_.Apply(first[0]);
  Publish(4);
  EXPECT_EQ(Known(PrefixTier::kMemory), 10u);
}

TEST_F(PartTableTest, TheWholeSetCanBePublishedAnew) {
  Apply(PutOf(1, Letters(640, 'a')));
  Publish();
  Apply(PutOf(2, Letters(128, 'b'), PrefixTier::kDisk));
  Remove(1);
  Apply(PutOf(3, Letters(64, 'a'), PrefixTier::kSlot));
  tree_.PublishAnew();
  consumer_ = {};
  Publish();
  EXPECT_EQ(Known(PrefixTier::kMemory), 0u);
  EXPECT_EQ(Known(PrefixTier::kDisk), 2u);
  EXPECT_EQ(Known(PrefixTier::kSlot), 1u);
  EXPECT_EQ(tree_.blocks(), 3u);
}

TEST(PartTable, APseudonymousSetHasNoTokenOfTheCache) {
  BlockTree tree{PseudonymousIds("a secret")};
  PartTable parts(&tree);
  Tokens tokens(640);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<Token>(1000 + i);
  parts.Apply(PutOf(1, tokens));
  const std::vector<KvEvent> events = tree.NextEvents(SIZE_MAX);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].token_ids, PseudonymousIds("a secret").Of(tokens));
}

// Parts as the scheduler reports them, against plain lists of tokens.
class RandomParts {
 public:
  explicit RandomParts(uint64_t seed) : random_(seed) {}

  void Step() {
    const size_t kind = random_() % 10;
    if (kind < 5 || known_.empty()) {
      Put(++last_);
    } else if (kind < 7) {
      Put(AnyPart());
    } else if (kind < 8) {
      const uint64_t part = AnyPart();
      PrefixChange change;
      change.kind = Kind::kMoved;
      change.part = part;
      change.tier = known_.at(part).tier = AnyTier();
      parts_.Apply(change);
    } else {
      Remove(AnyPart());
    }
    if (random_() % 4 == 0) Publish();
  }
  void Publish() {
    if (random_() % 8 == 0) {
      consumer_.Apply({KvEvent::Kind::kCleared});
      tree_.PublishAnew();
    }
    while (tree_.has_events()) {
      for (const KvEvent& event : tree_.NextEvents(1 + random_() % 20)) consumer_.Apply(event);
      // A batch may not be the last one before the next change.
      if (random_() % 8 == 0) return;
    }
    EXPECT_EQ(consumer_.prefixes(), Expected());
    tree_.CheckInvariants();
    ++compared_;
  }
  void RemoveAll() {
    while (!known_.empty()) Remove(known_.rbegin()->first);
    while (tree_.has_events()) tree_.NextEvents(SIZE_MAX);
    EXPECT_EQ(tree_.blocks(), 0u);
  }
  size_t compared() const { return compared_; }

 private:
  struct Known {
    Tokens tokens = {};
    PrefixTier tier = {};
    bool resumable = false;
    uint64_t base = 0;
  };

  PrefixTier AnyTier() { return static_cast<PrefixTier>(random_() % kPrefixTiers); }
  uint64_t AnyPart() {
    auto part = known_.begin();
    std::advance(part, static_cast<ptrdiff_t>(random_() % known_.size()));
    return part->first;
  }

  void Put(uint64_t id) {
    PrefixChange change;
    change.part = id;
    change.tier = AnyTier();
    change.resumable = random_() % 4 > 0;
    Known known{{}, change.tier, change.resumable, 0};
    if (!known_.empty() && random_() % 4 > 0) {
      change.base = AnyPart();
      const Known& base = known_.at(change.base);
      change.begin = random_() % (base.tokens.size() + 1);
      known.tokens.assign(base.tokens.begin(),
                          base.tokens.begin() + static_cast<ptrdiff_t>(change.begin));
      // A part that needs others needs older ones.
      change.needs_base = change.base < id && random_() % 2 == 0;
      if (change.needs_base) known.base = change.base;
    }
    change.tokens.resize(random_() % 200, static_cast<Token>(random_() % 2));
    known.tokens.insert(known.tokens.end(), change.tokens.begin(), change.tokens.end());
    parts_.Apply(change);
    known_[id] = std::move(known);
  }

  void Remove(uint64_t id) {
    for (const auto& [other, known] : known_) {
      if (known.base == id) return Remove(other);
    }
    PrefixChange change;
    change.kind = Kind::kGone;
    change.part = id;
    parts_.Apply(change);
    known_.erase(id);
  }

  PrefixTier TierOf(const Known& known) const {
    return known.base == 0 ? known.tier : std::max(known.tier, TierOf(known_.at(known.base)));
  }
  EventConsumer::Prefixes Expected() const {
    EventConsumer::Prefixes expected;
    for (const auto& [id, known] : known_) {
      if (!known.resumable) continue;
      for (size_t end = kEventBlockTokens; end <= known.tokens.size(); end += kEventBlockTokens) {
        expected.emplace(TierOf(known),
                         EventConsumer::Ids(known.tokens.begin(),
                                            known.tokens.begin() + static_cast<ptrdiff_t>(end)));
      }
    }
    return expected;
  }

  std::mt19937_64 random_;
  BlockTree tree_{TokenIds()};
  PartTable parts_{&tree_};
  EventConsumer consumer_;
  std::map<uint64_t, Known> known_;
  uint64_t last_ = 0;
  size_t compared_ = 0;
};

TEST(PartTable, AConsumerKnowsThePrefixesOfAllResumableParts) {
  size_t compared = 0;
  for (uint64_t seed = 1; seed <= test::Played(300); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomParts parts(seed);
    for (int i = 0; i < 80; ++i) parts.Step();
    parts.RemoveAll();
    if (::testing::Test::HasFailure()) return;
    compared += parts.compared();
  }
  EXPECT_GT(compared, test::Played(3000));
}

}  // namespace
}  // namespace cairn::block_tree_test
