// EventConsumer: the set of blocks that a consumer of KV events knows, as a router does. A test
// fails where an event would be refused or misunderstood: a block without its parent, or a block
// that was never stored and goes.

#ifndef CAIRN_TESTING_EVENTS_EVENT_CONSUMER_H_
#define CAIRN_TESTING_EVENTS_EVENT_CONSUMER_H_

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fleet/events/kv_event.h"

namespace cairn::test {

class EventConsumer {
 public:
  using Ids = std::vector<uint32_t>;
  // By tier: the ids of all tokens up to the end of each block.
  using Prefixes = std::set<std::pair<PrefixTier, Ids>>;

  void Apply(const KvEvent& event) {
    switch (event.kind) {
      case KvEvent::Kind::kStored:
        return Store(event);
      case KvEvent::Kind::kRemoved:
        for (const uint64_t block : event.blocks) {
          ASSERT_EQ(blocks_[block].tiers.erase(event.tier), 1u) << "it was never stored";
          if (blocks_[block].tiers.empty()) blocks_.erase(block);
        }
        return;
      case KvEvent::Kind::kCleared:
        blocks_.clear();
    }
  }

  Prefixes prefixes() const {
    Prefixes prefixes;
    for (const auto& [hash, block] : blocks_) {
      for (const PrefixTier tier : block.tiers) prefixes.emplace(tier, block.ids);
    }
    return prefixes;
  }
  size_t blocks() const { return blocks_.size(); }

 private:
  struct Block {
    Ids ids = {};
    std::set<PrefixTier> tiers = {};
  };

  void Store(const KvEvent& event) {
    ASSERT_FALSE(event.blocks.empty());
    ASSERT_EQ(event.token_ids.size(), event.blocks.size() * kEventBlockTokens);
    Ids ids;
    if (event.parent) {
      const auto parent = blocks_.find(*event.parent);
      ASSERT_TRUE(parent != blocks_.end()) << "a block without its parent";
      EXPECT_TRUE(parent->second.tiers.contains(event.tier)) << "the parent is in another tier";
      ids = parent->second.ids;
    }
    for (size_t i = 0; i < event.blocks.size(); ++i) {
      const auto begin = event.token_ids.begin() + static_cast<ptrdiff_t>(i * kEventBlockTokens);
      ids.insert(ids.end(), begin, begin + kEventBlockTokens);
      Block& block = blocks_[event.blocks[i]];
      EXPECT_TRUE(block.ids.empty() || block.ids == ids) << "one hash, two prefixes";
      block.ids = ids;
      EXPECT_TRUE(block.tiers.insert(event.tier).second) << "it was stored already";
    }
  }

  std::map<uint64_t, Block> blocks_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_EVENTS_EVENT_CONSUMER_H_
