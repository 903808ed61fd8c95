#include "sched/media/encoded_media.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "testing/media/fake_media.h"
#include "testing/store/fake_disk.h"

namespace cairn {
namespace {

constexpr NamespaceId kClient = 7;

struct Rows {
  explicit Rows(size_t bytes_max = size_t{1} << 20, SavedMedia* saved = nullptr)
      : media(&decoder, &encoder, &clock, {bytes_max, {}, saved}) {}

  // Asks until the rows are there.
  Result<std::shared_ptr<const EncodedPiece>> Wait(const std::shared_ptr<const Medium>& medium,
                                                   NamespaceId name_space = kClient) {
    while (true) {
      auto piece = media.Get(name_space, {0, 0, medium});
      if (!piece || *piece != nullptr) return piece;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  FakeMediaDecoder decoder;
  FakeMediaEncoder encoder;
  ManualClock clock;
  EncodedMedia media;
};

TEST(EncodedMedia, AreEncodedOnce) {
  Rows rows;
  const auto image = FakeImage(12, 4, "a");
  const auto first = rows.Wait(image);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)->rows, 12U);
  EXPECT_EQ((*first)->positions, 4U);
  EXPECT_EQ(*rows.Wait(FakeImage(12, 4, "a")), *first) << "the same content";
  EXPECT_EQ(rows.encoder.encoded(), 1);
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "b")).has_value());
  EXPECT_EQ(rows.encoder.encoded(), 2);
  EXPECT_EQ(rows.media.stats().encoded, 2U);
}

TEST(EncodedMedia, OfOneNamespaceAreNotFoundInAnother) {
  Rows rows;
  const auto image = FakeImage(12, 4, "a");
  ASSERT_TRUE(rows.Wait(image, 1).has_value());
  ASSERT_TRUE(rows.Wait(image, 2).has_value());
  EXPECT_EQ(rows.encoder.encoded(), 2);
}

TEST(EncodedMedia, ThatCannotBeDecodedAreAnErrorThatIsNotKept) {
  Rows rows;
  const auto bad = MakeMedium(MediumKind::kImage, Bytes{'b', 'a', 'd'}, "messages[0].content[0]");
  const auto refused = rows.Wait(bad);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(rows.Wait(bad).has_value());
  EXPECT_EQ(rows.media.stats().failed, 2U);
}

TEST(EncodedMedia, StayWithinTheirBudgetAndThoseUsedLastStay) {
  const size_t bytes = 12 * 8 * sizeof(float);
  Rows rows(2 * bytes);
  const auto a = FakeImage(12, 4, "a");
  ASSERT_TRUE(rows.Wait(a).has_value());
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "b")).has_value());
  ASSERT_TRUE(rows.Wait(a).has_value());
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "c")).has_value());
  EXPECT_EQ(rows.media.stats().bytes, 2 * bytes);
  ASSERT_TRUE(rows.Wait(a).has_value());
  EXPECT_EQ(rows.encoder.encoded(), 3);
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "b")).has_value());
  EXPECT_EQ(rows.encoder.encoded(), 4);
}

TEST(EncodedMedia, LargerThanTheBudgetAreStillReturned) {
  Rows rows(1);
  EXPECT_TRUE(rows.Wait(FakeImage(12, 4, "a")).has_value());
}

SavedAs Names() {
  return {{7, 7}, {{kClient, 111}}};
}

TEST(EncodedMedia, ThatWereSavedAreReadInsteadOfEncodedAgain) {
  test::FakeDisk disk;
  SavedMedia saved(&disk, Names(), "fake");
  const auto image = FakeImage(12, 4, "a");
  std::vector<float> first;
  {
    Rows rows(size_t{1} << 20, &saved);
    first = (*rows.Wait(image))->embeddings;
    EXPECT_EQ(rows.media.stats().loaded, 0U);
  }
  Rows later(size_t{1} << 20, &saved);
  const auto piece = later.Wait(image);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ((*piece)->embeddings, first);
  EXPECT_EQ((*piece)->positions, 4U);
  EXPECT_EQ(later.encoder.encoded(), 0);
  EXPECT_EQ(later.media.stats().encoded, 0U);
  EXPECT_EQ(later.media.stats().loaded, 1U);
}

TEST(EncodedMedia, ThatLeftMemoryAreReadInsteadOfEncodedAgain) {
  test::FakeDisk disk;
  SavedMedia saved(&disk, Names(), "fake");
  Rows rows(12 * 8 * sizeof(float), &saved);  // room for one
  const auto a = FakeImage(12, 4, "a");
  ASSERT_TRUE(rows.Wait(a).has_value());
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "b")).has_value());
  ASSERT_TRUE(rows.Wait(a).has_value());
  EXPECT_EQ(rows.encoder.encoded(), 2);
  EXPECT_EQ(rows.media.stats().loaded, 1U);
}

TEST(EncodedMedia, ThatCannotBeSavedAreEncodedAgain) {
  test::FakeDisk disk;
  disk.FailWrites(true);
  SavedMedia saved(&disk, Names(), "fake");
  for (int life = 0; life < 2; ++life) {
    Rows rows(size_t{1} << 20, &saved);
    ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "a")).has_value());
    EXPECT_EQ(rows.encoder.encoded(), 1);
  }
}

}  // namespace
}  // namespace cairn
