#include "sched/answer/generation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace cairn::generation_test {
namespace {

constexpr std::chrono::milliseconds kNow(0);

void PushTexts(size_t count, Generation* generation) {
  for (size_t i = 0; i < count; ++i) {
    GenerationEvent event;
    event.text = "x";
    generation->Push(std::move(event));
  }
}
void TakeTexts(size_t count, Generation* generation) {
  for (size_t i = 0; i < count; ++i) ASSERT_TRUE(generation->Next(kNow));
}

TEST(Generation, ItsClientIsBehindFromTheBoundUntilItHasTakenHalf) {
  Generation generation;
  generation.BoundWaiting(10);
  PushTexts(9, &generation);
  EXPECT_FALSE(generation.behind());
  PushTexts(1, &generation);
  EXPECT_TRUE(generation.behind());
  TakeTexts(4, &generation);
  EXPECT_TRUE(generation.behind()) << "else it would pause at every token";
  TakeTexts(1, &generation);
  EXPECT_FALSE(generation.behind());
  PushTexts(4, &generation);
  EXPECT_FALSE(generation.behind());
  PushTexts(1, &generation);
  EXPECT_TRUE(generation.behind());
}

TEST(Generation, NobodyIsBehindWithoutABound) {
  Generation generation;
  PushTexts(100'000, &generation);
  EXPECT_FALSE(generation.behind());
}

TEST(Generation, ABoundHoldsForWhatWaitsAlready) {
  Generation generation;
  PushTexts(10, &generation);
  generation.BoundWaiting(10);
  EXPECT_TRUE(generation.behind());
}

TEST(Generation, ABoundOfOneIsLeftWhenNothingWaits) {
  Generation generation;
  generation.BoundWaiting(1);
  PushTexts(1, &generation);
  EXPECT_TRUE(generation.behind());
  TakeTexts(1, &generation);
  EXPECT_FALSE(generation.behind());
}

TEST(Generation, TheClientOfAPartIsThatOfTheWhole) {
  const auto whole = std::make_shared<Generation>();
  whole->BoundWaiting(1);
  Generation part(whole, 3);
  PushTexts(1, &part);
  EXPECT_TRUE(part.behind());
  TakeTexts(1, whole.get());
  EXPECT_FALSE(part.behind());
}

}  // namespace
}  // namespace cairn::generation_test
