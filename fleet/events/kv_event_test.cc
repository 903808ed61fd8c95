#include "fleet/events/kv_event.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn {
namespace {

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) {
    for (const unsigned shift : {4U, 0U}) {
      hex += "0123456789abcdef"[(static_cast<unsigned char>(byte) >> shift) & 0xFU];
    }
  }
  return hex;
}

// The expected bytes are those of msgspec for the classes of vLLM 0.33, but for the header of the
// map of a stored block: msgspec counts the fields last, and leaves three bytes for their number.
TEST(KvEvent, AClearedCacheIsPackedAsVllmDoes) {
  EXPECT_EQ(Hex(PackEvents(1.5, std::vector<KvEvent>{{KvEvent::Kind::kCleared}})),
            "93cb3ff80000000000009181a474797065b0416c6c426c6f636b73436c656172656400");
}

TEST(KvEvent, ARemovedBlockIsPackedAsVllmDoes) {
  KvEvent event{KvEvent::Kind::kRemoved, PrefixTier::kDisk};
  event.blocks = {1, 0xfedcba9876543210};
  EXPECT_EQ(Hex(PackEvents(1.5, std::vector<KvEvent>{event})),
            "93cb3ff80000000000009183a474797065ac426c6f636b52656d6f766564"
            "ac626c6f636b5f6861736865739201cffedcba9876543210"
            "a66d656469756da753544f5241474500");
}

TEST(KvEvent, AStoredBlockIsPackedAsVllmDoes) {
  KvEvent event{KvEvent::Kind::kStored, PrefixTier::kSlot};
  event.blocks = {0x12345};
  event.parent = 200;
  event.token_ids = {1, 128, 256, 65'536};
  EXPECT_EQ(Hex(PackEvents(1.5, std::vector<KvEvent>{event})),
            "93cb3ff80000000000009188a474797065ab426c6f636b53746f726564"
            "ac626c6f636b5f68617368657391ce00012345"
            "b1706172656e745f626c6f636b5f68617368ccc8"
            "a9746f6b656e5f6964739401cc80cd0100ce00010000"
            "aa626c6f636b5f73697a6540a76c6f72615f6964c0"
            "a66d656469756da3475055a96c6f72615f6e616d65c000");
}

TEST(KvEvent, TheFirstBlockHasNoParent) {
  KvEvent event;
  event.blocks = {1};
  const std::string packed = Hex(PackEvents(0, std::vector<KvEvent>{event}));
  EXPECT_NE(packed.find("b1706172656e745f626c6f636b5f68617368c0"), std::string::npos);
}

}  // namespace
}  // namespace cairn
