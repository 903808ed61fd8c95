#include "sched/media/encoded_media.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "testing/media/fake_media.h"
#include "testing/store/fake_disk.h"

namespace cairn::encoded_media_test {
namespace {

constexpr NamespaceId kClient = 7;

struct Rows {
  explicit Rows(size_t bytes_max = size_t{1} << 20, SavedMedia* saved = nullptr)
      : media(&decoder, &encoder, &clock, {bytes_max, {}, saved}) {}

  // Asks until the rows are there.
  Result<std::shared_ptr<const EncodedPiece>> Wait(const std::shared_ptr<const Medium>& medium,
                                                   NamespaceId name_space = kClient) {
    while (true) {
      media.SetWanted({{name_space, medium, true}});
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

// Another request may have sent the same file, and its client waits.
TEST(EncodedMedia, AreEncodedForWhoStaysWhenAnotherClientWithTheSameFileHasLeft) {
  Rows rows;
  const auto stays = FakeImage(12, 4, "a");
  std::atomic<bool> asked = false;
  const auto leaves = MakeMedium(stays->kind, stays->file, "messages[0]", [&asked] {
    asked = true;
    return true;
  });
  rows.media.SetWanted({{kClient, leaves, true}, {kClient, stays, true}});
  while (!asked && rows.encoder.encoded() == 0) std::this_thread::yield();
  EXPECT_TRUE(asked);
  const auto rest = rows.Wait(stays);
  ASSERT_TRUE(rest.has_value()) << rest.error().message;
  EXPECT_EQ((*rest)->rows, 12U);
  EXPECT_EQ(rows.encoder.encoded(), 1);
  EXPECT_EQ(rows.media.stats().failed, 0U);
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

TEST(EncodedMedia, ThatAreNotWantedAnyMoreAreNotEncoded) {
  Rows rows;
  rows.encoder.Hold();
  std::vector<WantedMedium> wanted;
  for (size_t i = 0; i < 20; ++i) wanted.push_back({1, FakeImage(12, 4, std::to_string(i)), true});
  rows.media.SetWanted(wanted);
  rows.media.SetWanted({});
  rows.encoder.Release();
  ASSERT_TRUE(rows.Wait(FakeImage(30, 4, "other"), 2).has_value());
  const auto encoded = rows.encoder.encoded_rows();
  EXPECT_LE(encoded.size(), 2U) << "the one that was begun already, and the other";
  EXPECT_EQ(encoded.back(), 30U);
}

TEST(EncodedMedia, AreEncodedInTheOrderInWhichTheyAreWantedNow) {
  Rows rows;
  rows.encoder.Hold();
  const auto of = [](size_t count) { return WantedMedium{1, FakeImage(count, 4, "a"), true}; };
  rows.media.SetWanted({of(12), of(13), of(14)});
  rows.media.SetWanted({of(14), of(12), of(13)});
  rows.encoder.Release();
  while (rows.media.stats().encoded < 3) std::this_thread::yield();
  auto encoded = rows.encoder.encoded_rows();
  // It may have begun with the first one at once.
  const auto begun =
      encoded.front() == 12 ? std::vector<size_t>{12, 14, 13} : std::vector<size_t>{14, 12, 13};
  EXPECT_EQ(encoded, begun);
}

TEST(EncodedMedia, AreEncodedAheadWithinHalfOfTheBudgetAndThenStay) {
  const size_t bytes = 12 * 8 * sizeof(float);
  Rows rows(4 * bytes);
  const auto of = [](const std::string& name, bool is_due = false) {
    return WantedMedium{kClient, FakeImage(12, 4, name), is_due};
  };
  rows.media.SetWanted({of("a"), of("b"), of("c"), of("d")});
  while (rows.media.stats().encoded < 2) std::this_thread::yield();
  // Those that are due come in any case, and evict none that is wanted.
  for (const char* due : {"e", "f", "g", "h"}) {
    rows.media.SetWanted({of("a"), of("b"), of("c"), of("d"), of(due, true)});
    while (!*rows.media.Get(kClient, {0, 0, FakeImage(12, 4, due)})) std::this_thread::yield();
  }
  EXPECT_EQ(rows.encoder.encoded(), 2 + 4);
  EXPECT_NE(*rows.media.Get(kClient, {0, 0, FakeImage(12, 4, "a")}), nullptr);
  EXPECT_NE(*rows.media.Get(kClient, {0, 0, FakeImage(12, 4, "b")}), nullptr);
  EXPECT_EQ(rows.media.stats().bytes, 4 * bytes);
}

TEST(EncodedMedia, ThatFailedAreForgottenWithTheirRequest) {
  Rows rows;
  const auto bad = MakeMedium(MediumKind::kImage, Bytes{'b', 'a', 'd'}, "messages[0].content[0]");
  rows.media.SetWanted({{kClient, bad, true}});
  while (rows.media.stats().failed == 0) std::this_thread::yield();
  rows.media.SetWanted({});
  EXPECT_EQ(*rows.media.Get(kClient, {0, 0, bad}), nullptr) << "no error";
}

TEST(EncodedMedia, ThatFailAreTriedAgainOnlyWhenTheyAreWantedAgain) {
  Rows rows;
  const auto bad = MakeMedium(MediumKind::kImage, Bytes{'b', 'a', 'd'}, "messages[0].content[0]");
  ASSERT_FALSE(rows.Wait(bad).has_value());
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "a")).has_value());
  EXPECT_EQ(rows.media.stats().failed, 1U);
}

// Memory is short when a medium has been encoded: to keep its rows, or to say that it failed.
class ShortOfMemory final : public Clock {
 public:
  double NowMs() const override {
    const bool is_end = ++calls_ % 2 == 0;
    if (is_end && is_short) throw std::bad_alloc();
    return 0;
  }
  std::atomic<bool> is_short = true;

 private:
  mutable std::atomic<int> calls_ = 0;
};

TEST(EncodedMedia, WithoutMemoryFailAndAreNotTriedAgainByThemselves) {
  FakeMediaDecoder decoder;
  FakeMediaEncoder encoder;
  ShortOfMemory clock;
  EncodedMedia media(&decoder, &encoder, &clock, {});
  const auto of = [](size_t count) {
    return WantedMedium{kClient, FakeImage(count, 4, "a"), true};
  };
  media.SetWanted({of(12), of(13)});
  while (media.stats().failed < 2) std::this_thread::yield();
  clock.is_short = false;
  // The thread goes on with what it has not tried.
  media.SetWanted({of(12), of(13), of(14)});
  while (!*media.Get(kClient, {0, 0, of(14).medium})) std::this_thread::yield();
  EXPECT_EQ(encoder.encoded_rows(), (std::vector<size_t>{12, 13, 14}));
  const auto refused = media.Get(kClient, {0, 0, of(12).medium});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  // It is told once, and then it is a new medium.
  media.SetWanted({of(12)});
  while (!*media.Get(kClient, {0, 0, of(12).medium})) std::this_thread::yield();
  EXPECT_EQ(*media.Get(kClient, {0, 0, of(13).medium}), nullptr) << "forgotten with its request";
}

TEST(EncodedMedia, TellWhoseTimeTheyTook) {
  Rows rows;
  rows.encoder.OnEncode([&rows] { rows.clock.Advance(70); });
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "a"), 1).has_value());
  ASSERT_TRUE(rows.Wait(FakeImage(12, 4, "a"), 2).has_value());
  const auto times = rows.media.TakeTimes();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].name_space, 1U);
  EXPECT_EQ(times[1].name_space, 2U);
  EXPECT_EQ(times[1].ms, 70);
  EXPECT_TRUE(rows.media.TakeTimes().empty());
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
}  // namespace cairn::encoded_media_test
