#include "api/record/volatile_hints.h"

#include <gtest/gtest.h>

namespace cairn::volatile_hints_test {
namespace {

Explanation Changed(size_t message, std::string pattern) {
  Explanation told;
  told.place = Explanation::Place{.message = message, .role = Role::kSystem};
  told.volatile_pattern = std::move(pattern);
  return told;
}

TEST(VolatileHints, TheSecondChangeOfAValueIsToldOnce) {
  VolatileHints hints;
  EXPECT_FALSE(hints.Note(1, "a", Changed(0, "auto")).has_value());
  EXPECT_EQ(
      hints.Note(1, "b", Changed(0, "auto")),
      "a value in messages[0] (system) changes in every request, so everything after it is "
      "prefilled again: --volatile late would keep it and tell the newest at the newest message");
  EXPECT_FALSE(hints.Note(1, "c", Changed(0, "auto")).has_value());
}

TEST(VolatileHints, EachClientMessageAndPatternCountsAlone) {
  VolatileHints hints;
  EXPECT_FALSE(hints.Note(1, "a", Changed(0, "auto")).has_value());
  EXPECT_FALSE(hints.Note(2, "a", Changed(0, "auto")).has_value());
  EXPECT_FALSE(hints.Note(1, "a", Changed(1, "auto")).has_value());
  EXPECT_FALSE(hints.Note(1, "a", Changed(0, "x\\d+")).has_value());
  EXPECT_FALSE(hints.Note(1, "a", Changed(0, "")).has_value());
  EXPECT_FALSE(hints.Note(1, "a", Explanation()).has_value());
}

TEST(VolatileHints, WhereValuesAreToldLateTheFlagIsNotAdvised) {
  VolatileHints hints;
  hints.SetTellsLate(true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(hints.Note(1, "a", Changed(0, "auto")).has_value());
  }
  EXPECT_FALSE(hints.Note(1, "a", Changed(0, "x\\d+")).has_value());
  EXPECT_TRUE(hints.Note(1, "a", Changed(0, "x\\d+")).has_value());
}

TEST(VolatileHints, ALineHasNoTextOfThePrompt) {
  VolatileHints hints;
  hints.Note(1, "a", Changed(0, "Secret \\d+"));
  const auto line = hints.Note(1, "req-9", Changed(0, "Secret \\d+"));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->find("Secret"), std::string::npos);
  EXPECT_NE(line->find("GET /cairn/requests/req-9"), std::string::npos);
}

TEST(VolatileHints, TheNumberOfValuesIsBounded) {
  VolatileHints hints;
  for (size_t i = 0; i < VolatileHints::kValuesMax; ++i) hints.Note(1, "a", Changed(i, "auto"));
  EXPECT_FALSE(hints.Note(1, "a", Changed(5000, "auto")).has_value());
  EXPECT_FALSE(hints.Note(1, "a", Changed(5000, "auto")).has_value());
  EXPECT_TRUE(hints.Note(1, "a", Changed(0, "auto")).has_value());
}

}  // namespace
}  // namespace cairn::volatile_hints_test
