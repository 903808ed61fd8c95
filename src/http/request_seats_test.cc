#include "http/request_seats.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace cairn {
namespace {

using Seat = std::unique_ptr<RequestSeats::Seat>;

class RequestSeatsTest : public testing::Test {
 protected:
  static constexpr size_t kKeys = 5;

  Seat Enter(ApiKeys::Number key, size_t keys = kKeys) {
    auto seat = seats_.Enter(key, keys, peer_);
    if (!seat) refusal_ = seat.error().message;
    return seat ? std::move(*seat) : nullptr;
  }
  // Seats that wait for their clients, with these lags.
  std::vector<Seat> EnterSlow(ApiKeys::Number key, const std::vector<double>& lags_ms) {
    std::vector<Seat> seats;
    for (const double lag_ms : lags_ms) {
      seats.push_back(Enter(key));
      EXPECT_TRUE(seats.back()->Begin(ClientWait::kReceives, lag_ms));
    }
    return seats;
  }

  const std::shared_ptr<PeerWatch> peer_ =
      std::make_shared<PeerWatch>(-1, std::make_shared<StopSignal>());
  RequestSeats seats_{4};
  std::string refusal_;
};

TEST_F(RequestSeatsTest, TheSlowestOfTheKeyThatHoldsMostGivesWay) {
  const auto slow = EnterSlow(1, {3e6, 9e6, 6e6});
  const auto other = EnterSlow(2, {50e6});
  const Seat newcomer = Enter(3);
  ASSERT_NE(newcomer, nullptr);
  EXPECT_FALSE(slow[0]->preempted());
  EXPECT_TRUE(slow[1]->preempted());
  EXPECT_FALSE(slow[2]->preempted());
  EXPECT_FALSE(other[0]->preempted()) << "its key holds one seat alone";
  EXPECT_FALSE(slow[1]->End());
  EXPECT_FALSE(slow[1]->Begin(ClientWait::kReceives, 0)) << "it must end";
}

TEST_F(RequestSeatsTest, NobodyGivesWayToAKeyThatHoldsAsMany) {
  const auto one = EnterSlow(1, {1, 2});
  const auto two = EnterSlow(2, {1, 2});
  EXPECT_EQ(Enter(1), nullptr);
  EXPECT_EQ(refusal_, "all 4 connections of this server are in use; try again later");
  const Seat third = Enter(3);
  EXPECT_NE(third, nullptr);
  EXPECT_EQ(Enter(3), nullptr) << "each other key holds two or one by now";
}

TEST_F(RequestSeatsTest, WhatIsAtWorkKeepsItsSeat) {
  const std::vector<Seat> work = [&] {
    std::vector<Seat> seats = EnterSlow(1, {1, 2, 3, 4});
    for (const Seat& seat : seats) EXPECT_TRUE(seat->End());
    return seats;
  }();
  EXPECT_EQ(Enter(2), nullptr);
}

TEST_F(RequestSeatsTest, ASeatThatIsLeftIsFree) {
  std::vector<Seat> seats = EnterSlow(1, {1, 2, 3, 4});
  EXPECT_NE(Enter(2), nullptr);  // and left at once
  EXPECT_NE(Enter(1), nullptr) << "one was preempted";
  seats.clear();
  for (int i = 0; i < 4; ++i) seats.push_back(Enter(2));
  EXPECT_EQ(Enter(2), nullptr);
}

TEST_F(RequestSeatsTest, OneKeyOfSeveralHoldsAllButAnEighth) {
  RequestSeats many(16);
  std::vector<Seat> seats;
  for (int i = 0; i < 14; ++i) {
    auto seat = many.Enter(1, 2, peer_);
    ASSERT_TRUE(seat);
    seats.push_back(std::move(*seat));
  }
  const auto refused = many.Enter(1, 2, peer_);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("this key holds 14 of the 16 connections"));
  EXPECT_TRUE(many.Enter(2, 2, peer_));
  EXPECT_TRUE(many.Enter(1, 1, peer_)) << "the only key may hold all";
}

TEST_F(RequestSeatsTest, ClientsWithoutAKeyGiveWayToAllAndTakeNoSeat) {
  RequestSeats few(2);
  auto stranger = few.Enter(0, 1, peer_);
  auto keyed = few.Enter(1, 1, peer_);
  ASSERT_TRUE(stranger && keyed);
  EXPECT_TRUE((*stranger)->Begin(ClientWait::kSends, 0));
  EXPECT_TRUE((*keyed)->Begin(ClientWait::kSends, 9e6));
  EXPECT_TRUE(few.Enter(1, 1, peer_)) << "although its key holds a seat already";
  EXPECT_TRUE((*stranger)->preempted());
  EXPECT_FALSE((*keyed)->preempted());

  auto both = few.Enter(1, 1, peer_);
  ASSERT_TRUE(both);
  EXPECT_TRUE((*both)->Begin(ClientWait::kSends, 0));
  EXPECT_FALSE(few.Enter(0, 1, peer_));
}

TEST_F(RequestSeatsTest, WithoutKeysAllAreAlike) {
  RequestSeats few(2);
  auto one = few.Enter(0, 0, peer_);
  auto two = few.Enter(0, 0, peer_);
  ASSERT_TRUE(one && two);
  EXPECT_TRUE((*one)->Begin(ClientWait::kReceives, 0));
  EXPECT_FALSE(few.Enter(0, 0, peer_));
}

}  // namespace
}  // namespace cairn
