#include "cmd/top.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "testing/base/golden_file.h"

namespace cairn {
namespace {

constexpr std::string_view kCache = R"({
  "tiers": {"ram": {"bytes": 4400000000, "bytes_max": 8589934592},
            "disk": {"bytes": 1288490188, "bytes_max": 34359738368, "objects": 1214}},
  "classes": [{"class": "header", "tier": "ram", "checkpoints": 3, "bytes": 1},
              {"class": "turn", "tier": "disk", "checkpoints": 40, "bytes": 1}],
  "slots": [{"id": 0, "tokens": 12034, "busy": true}, {"id": 1, "tokens": 0, "busy": false}]})";
constexpr std::string_view kRequests = R"({"requests": [
  {"id": "chatcmpl-7-3", "state": "answering"},
  {"id": "chatcmpl-7-2", "state": "done", "queue_ms": 2, "prompt_ms": 318,
   "reuse": {"prompt_tokens": 12000, "reused_tokens": 64, "prefetched_tokens": 0,
             "explanation": {"reason": "diverged",
                             "sentence": "The prompt diverges at messages[0] (system)."}}},
  {"id": "chatcmpl-7-1", "state": "done", "queue_ms": 0, "prompt_ms": 55,
   "reuse": {"prompt_tokens": 11900, "reused_tokens": 11800, "prefetched_tokens": 300,
             "explanation": {"reason": "all_known", "sentence": "all"}}}]})";

TEST(TopView, ShowsTiersSlotsAndRequests) {
  const auto shown = TopView({"http://127.0.0.1:8080", kCache, kRequests, 120, 40});
  ASSERT_TRUE(shown.has_value()) << shown.error().message;
  ExpectGolden("top.txt", *shown);
}

TEST(TopView, FitsTheScreen) {
  const auto shown = TopView({"http://127.0.0.1:8080", kCache, kRequests, 40, 10});
  ASSERT_TRUE(shown.has_value());
  EXPECT_EQ(std::count(shown->begin(), shown->end(), '\n'), 10);
  size_t begin = 0;
  for (size_t end = shown->find('\n'); end != std::string::npos; end = shown->find('\n', begin)) {
    EXPECT_LE(end - begin, 40u);
    begin = end + 1;
  }
}

TEST(TopView, SaysWhoDoesNotAnswerAsExpected) {
  for (const std::string_view wrong : {"", "[]", R"({"tiers":{}})", "<html>"}) {
    const auto shown = TopView({"http://h:1", wrong, kRequests, 80, 40});
    ASSERT_FALSE(shown.has_value()) << wrong;
    EXPECT_NE(shown.error().message.find("http://h:1"), std::string::npos);
  }
}

}  // namespace
}  // namespace cairn
