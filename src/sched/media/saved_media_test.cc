#include "sched/media/saved_media.h"

#include <gtest/gtest.h>

#include "media/media_tokens.h"
#include "testing/media/fake_media.h"
#include "testing/store/fake_disk.h"

namespace cairn::saved_media_test {
namespace {

constexpr NamespaceId kClient = 1;
constexpr NamespaceId kOther = 2;
constexpr double kEncodeMs = 800;

SavedAs Names() {
  return {{7, 7}, {{0, 0}, {kClient, 111}, {kOther, 222}}};
}

EncodedPieces RowsOf(float number) {
  EncodedPiece piece;
  piece.rows = piece.positions = 4;
  piece.embeddings.assign(8, number);
  return {std::make_shared<const EncodedPiece>(std::move(piece))};
}

struct Saved {
  test::FakeDisk disk;
  SavedMedia media{&disk, Names(), "projector"};

  ObjectHeader OnlyHeader() const {
    const auto names = disk.names();
    EXPECT_EQ(names.size(), 1U);
    return disk.header(names.at(0));
  }
};

TEST(SavedMedia, ComeBackInALaterProcess) {
  Saved saved;
  const auto image = FakeImage(4, 4, "a");
  EXPECT_FALSE(saved.media.Load(kClient, *image).has_value());
  saved.media.Save(kClient, *image, RowsOf(2.5F), kEncodeMs);
  SavedMedia later(&saved.disk, Names(), "projector");
  const auto rows = later.Load(kClient, *FakeImage(4, 4, "a"));
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->front()->embeddings, RowsOf(2.5F).front()->embeddings);
}

TEST(SavedMedia, AreFoundNeitherForAnotherFileNorByAnotherProjectorOrModel) {
  Saved saved;
  saved.media.Save(kClient, *FakeImage(4, 4, "a"), RowsOf(1), kEncodeMs);
  EXPECT_FALSE(saved.media.Load(kClient, *FakeImage(4, 4, "b")).has_value());
  SavedMedia other_projector(&saved.disk, Names(), "projector with other settings");
  EXPECT_FALSE(other_projector.Load(kClient, *FakeImage(4, 4, "a")).has_value());
  SavedAs other_model = Names();
  other_model.fingerprint = {7, 8};
  SavedMedia of_other_model(&saved.disk, other_model, "projector");
  EXPECT_FALSE(of_other_model.Load(kClient, *FakeImage(4, 4, "a")).has_value());
}

TEST(SavedMedia, OfOneNamespaceAreNotFoundInAnother) {
  Saved saved;
  const auto image = FakeImage(4, 4, "a");
  saved.media.Save(kClient, *image, RowsOf(1), kEncodeMs);
  EXPECT_FALSE(saved.media.Load(kOther, *image).has_value());
  EXPECT_TRUE(saved.media.Load(kClient, *image).has_value());
}

TEST(SavedMedia, OfANamespaceWithoutANameAreNotSavedUntilItHasOne) {
  Saved saved;
  const auto image = FakeImage(4, 4, "a");
  saved.media.Save(9, *image, RowsOf(1), kEncodeMs);
  EXPECT_TRUE(saved.disk.names().empty());
  saved.media.SetNameSpaces({{9, 999}});
  saved.media.Save(9, *image, RowsOf(1), kEncodeMs);
  EXPECT_EQ(saved.OnlyHeader().name_space, 999U);
}

TEST(SavedMedia, AreObjectsOfTheirKindThatWeighAPartOfTheTimeOfEncoding) {
  Saved saved;
  saved.media.Save(kClient, *FakeImage(4, 4, "a"), RowsOf(1), kEncodeMs);
  const ObjectHeader header = saved.OnlyHeader();
  EXPECT_EQ(header.kind, ObjectKind::kMediaRows);
  EXPECT_EQ(header.fingerprint, Names().fingerprint);
  EXPECT_EQ(header.name_space, 111U);
  EXPECT_TRUE(HasMedia(header.tokens));
  EXPECT_GT(header.worth_ms, 0);
  EXPECT_LT(header.worth_ms, kEncodeMs);
}

TEST(SavedMedia, ThatAnotherProcessEvictedAreAMiss) {
  Saved saved;
  const auto image = FakeImage(4, 4, "a");
  saved.media.Save(kClient, *image, RowsOf(1), kEncodeMs);
  saved.disk.Lose(saved.disk.names().at(0));
  EXPECT_FALSE(saved.media.Load(kClient, *image).has_value());
}

// An object whose name is right and whose payload is not: a hash of 128 bits names it, and the key
// inside decides.
TEST(SavedMedia, WithThePayloadOfAnotherMediumAreAMiss) {
  Saved saved;
  const auto image = FakeImage(4, 4, "a");
  saved.media.Save(kClient, *image, RowsOf(1), kEncodeMs);
  const ObjectHeader header = saved.OnlyHeader();
  saved.disk.Lose(NameOf(header));
  const auto wrong = std::make_shared<const Bytes>(EncodeRows({1, 2}, RowsOf(1)));
  ASSERT_TRUE(saved.disk.Write(header, wrong));
  EXPECT_FALSE(saved.media.Load(kClient, *image).has_value());
}

TEST(SavedMedia, AreNotWrittenWhileTheDiskRefuses) {
  Saved saved;
  saved.disk.FailWrites(true);
  const auto image = FakeImage(4, 4, "a");
  for (int i = 0; i < 4; ++i) saved.media.Save(kClient, *image, RowsOf(1), kEncodeMs);
  EXPECT_FALSE(saved.media.Load(kClient, *image).has_value());
}

}  // namespace
}  // namespace cairn::saved_media_test
