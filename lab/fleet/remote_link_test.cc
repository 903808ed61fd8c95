#include "lab/fleet/remote_link.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <random>
#include <set>

namespace cairn {
namespace {

RemoteObject Segment(ConversationKey conversation, size_t begin, size_t end, RemoteId parent = 0,
                     uint64_t bytes = 100) {
  RemoteObject object;
  object.kind = ObjectKind::kSegment;
  object.begin = begin;
  object.end = end;
  object.last = {false, conversation, static_cast<uint32_t>(end - 1)};
  object.parent = parent;
  object.state_bytes = object.stored_bytes = bytes;
  return object;
}

TEST(RemoteObjects, KeepOneOfEachContent) {
  RemoteObjects objects(1000);
  const RemoteId id = objects.Add(Segment(1, 0, 64));
  EXPECT_EQ(objects.Find(Segment(1, 0, 64)), id);
  EXPECT_EQ(objects.Find(Segment(2, 0, 64)), 0u);
  EXPECT_EQ(objects.Find(Segment(1, 0, 128)), 0u);
  RemoteObject of_a_run = Segment(1, 0, 64);
  of_a_run.lineage = 7;
  EXPECT_EQ(objects.Find(of_a_run), 0u);
  EXPECT_EQ(objects.Of({false, 1, 0}), (std::set<RemoteId>{id}));
  EXPECT_TRUE(objects.Of({true, 0, 0}).empty());
}

TEST(RemoteObjects, GiveUpTheEndOfThePathThatWasUnusedLongest) {
  RemoteObjects objects(300);
  const RemoteId a = objects.Add(Segment(1, 0, 64));
  const RemoteId b = objects.Add(Segment(1, 64, 128, a));
  const RemoteId c = objects.Add(Segment(2, 0, 64));
  objects.Add(Segment(3, 0, 64));
  EXPECT_EQ(objects.Get(b), nullptr);
  objects.Use(a);
  objects.Add(Segment(4, 0, 64));
  EXPECT_EQ(objects.Get(c), nullptr);
  EXPECT_NE(objects.Get(a), nullptr);
  EXPECT_EQ(objects.moved().evicted, 2u);
  EXPECT_EQ(objects.Add(Segment(5, 0, 64, 0, 301)), 0u);
}

TEST(RemoteObjects, LoseWhatALostServerHasNotWrittenYet) {
  RemoteObjects objects(1000);
  RemoteObject written = Segment(1, 0, 64);
  written.server = 2;
  written.written_ms = 50;
  RemoteObject unwritten = Segment(2, 0, 64);
  unwritten.server = 2;
  unwritten.written_ms = 150;
  RemoteObject of_another = Segment(3, 0, 64);
  of_another.written_ms = 150;
  const RemoteId first = objects.Add(written);
  const RemoteId second = objects.Add(unwritten);
  const RemoteId third = objects.Add(of_another);
  objects.LoseUnwritten(2, 100);
  EXPECT_NE(objects.Get(first), nullptr);
  EXPECT_EQ(objects.Get(second), nullptr);
  EXPECT_NE(objects.Get(third), nullptr);
  EXPECT_EQ(objects.bytes(), 200u);
}

// A plain model: a list of names, the least recently used first.
TEST(RemoteObjects, HoldWhatAListOfTheLastUsedHolds) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    RemoteObjects objects(1000);
    std::list<RemoteObject> model;
    uint64_t model_bytes = 0;
    for (size_t step = 0; step < 200; ++step) {
      const RemoteObject object =
          Segment(random() % 20, 0, 64 * (1 + random() % 3), 0, 50 + random() % 200);
      const auto same = [&](const RemoteObject& other) {
        return other.last == object.last && other.end == object.end;
      };
      const auto held = std::find_if(model.begin(), model.end(), same);
      const RemoteId id = objects.Find(object);
      ASSERT_EQ(id != 0, held != model.end()) << "seed " << seed << ", step " << step;
      if (id != 0) {
        objects.Use(id);
        model.splice(model.end(), model, held);
        continue;
      }
      while (model_bytes + object.stored_bytes > 1000) {
        model_bytes -= model.front().stored_bytes;
        model.pop_front();
      }
      model.push_back(object);
      model_bytes += object.stored_bytes;
      objects.Add(object);
      ASSERT_EQ(objects.bytes(), model_bytes) << "seed " << seed << ", step " << step;
      ASSERT_EQ(objects.size(), model.size()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace cairn
