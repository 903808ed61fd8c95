#include "sched/slots/cell_ledger.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(CellLedger, CountsWhatEachSlotHolds) {
  CellLedger ledger(3);
  ledger.SetTokens(0, 100);
  ledger.SetTokens(2, 50);
  ledger.SetTokens(0, 120);
  EXPECT_EQ(ledger.used(), 170u);
  ledger.SetTokens(0, 0);
  EXPECT_EQ(ledger.used(), 50u);
}

TEST(CellLedger, CountsASharedPrefixOnceForAsLongAsOneSlotHoldsIt) {
  CellLedger ledger(2);
  ledger.SetTokens(0, 900);
  ledger.Share(0, 1, 600);
  EXPECT_EQ(ledger.used(), 900u);
  ledger.SetTokens(1, 1100);
  EXPECT_EQ(ledger.used(), 1400u);
  EXPECT_EQ(ledger.OnlyIn(0), 300u);
  ledger.SetTokens(0, 0);
  EXPECT_EQ(ledger.used(), 1100u);
}

TEST(CellLedger, WhatIsReadAfterACutLiesElsewhereThanWhatAnotherSlotStillHolds) {
  CellLedger ledger(2);
  ledger.SetTokens(0, 900);
  ledger.Share(0, 1, 900);
  ledger.SetTokens(0, 500);
  EXPECT_EQ(ledger.used(), 900u);
  ledger.SetTokens(0, 700);
  EXPECT_EQ(ledger.used(), 1100u);
}

TEST(CellLedger, AForkOfAForkSharesWithBoth) {
  CellLedger ledger(3);
  ledger.SetTokens(0, 300);
  ledger.Share(0, 1, 200);
  ledger.SetTokens(1, 400);
  ledger.Share(1, 2, 300);
  EXPECT_EQ(ledger.used(), 500u);
  ledger.SetTokens(1, 0);
  EXPECT_EQ(ledger.used(), 400u);
}

TEST(CellLedger, KnowsHowMuchOfASlotOthersHoldToo) {
  CellLedger ledger(3);
  ledger.SetTokens(0, 300);
  EXPECT_EQ(ledger.SharedTokens(0), 0u);
  ledger.Share(0, 1, 200);
  ledger.SetTokens(1, 400);
  ledger.Share(1, 2, 300);
  EXPECT_EQ(ledger.SharedTokens(0), 200u);
  EXPECT_EQ(ledger.SharedTokens(1), 300u);
  EXPECT_EQ(ledger.SharedTokens(2), 300u);
  ledger.SetTokens(2, 50);
  EXPECT_EQ(ledger.SharedTokens(1), 200u);
  ledger.SetTokens(2, 500);
  EXPECT_EQ(ledger.SharedTokens(2), 50u);
}

}  // namespace
}  // namespace cairn
