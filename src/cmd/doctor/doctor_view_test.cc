#include "cmd/doctor/doctor.h"

#include <gtest/gtest.h>

#include "testing/base/golden_file.h"

namespace cairn {
namespace {

constexpr std::string_view kReport = R"({"hours": 24, "clients": [
  {"agent": "opencode/1.2", "model": "qwen", "requests": 12, "prompt_tokens": 123456,
   "reused_tokens": 23456, "prefilled_tokens": 100000, "unavoidable_tokens": 9000,
   "avoidable_tokens": 91000, "prompt_minutes": 12.34, "avoidable_minutes": 10.2,
   "causes": [
     {"cause": "volatile_value", "sentence": "A value changes.", "requests": 11, "tokens": 90000,
      "minutes": 10.1, "since": 1764565200, "last": 1764568800,
      "cure": "Serve with --volatile late.",
      "example": {"request": "chatcmpl-1", "sentence": "The prompt diverges.", "message": 0,
                  "part": "content", "character": 24, "stored_excerpt": "23\nand\u001b[2J",
                  "prompt_excerpt": "24\nand"}},
     {"cause": "tools", "sentence": "The tools change.", "requests": 1, "tokens": 1000,
      "minutes": 0.1, "since": 0, "last": 0, "cure": "Sort them.",
      "example": {"request": "line 4"}}]},
  {"agent": "", "model": "qwen", "requests": 1, "prompt_tokens": 10, "reused_tokens": 0,
   "prefilled_tokens": 10, "unavoidable_tokens": 10, "avoidable_tokens": 0, "prompt_minutes": 0,
   "avoidable_minutes": 0, "causes": []}]})";

TEST(DoctorView, ShowsClientsCausesAndCures) {
  const auto shown = DoctorView(kReport);
  ASSERT_TRUE(shown.has_value()) << shown.error().message;
  ExpectGolden("doctor.txt", *shown);
}

TEST(DoctorView, SaysThatThereWereNoRequests) {
  EXPECT_EQ(DoctorView(R"({"hours": 24, "clients": []})").value(), "No requests were seen.\n");
}

TEST(DoctorView, RefusesWhatIsNoReport) {
  for (const char* body :
       {"", "[]", "{}", R"({"clients": [1]})", R"({"clients": [{"agent": 1}]})"}) {
    const auto shown = DoctorView(body);
    ASSERT_FALSE(shown.has_value()) << body;
    EXPECT_EQ(shown.error().code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace cairn
