#include "api/admin/refusals.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"

namespace cairn::refusals_test {
namespace {

class RefusalsTest : public testing::Test {
 protected:
  RefusalsTest() {
    refusals_.SetLog([this](LogLevel level, std::string_view line) {
      EXPECT_EQ(level, LogLevel::kInfo);
      lines_.emplace_back(line);
    });
  }
  static Refusal NoRoute() {
    return {.status = 404,
            .method = "POST",
            .path = "/messages",
            .route = "",
            .message = "no route at /messages",
            .remote = "10.0.0.1:5",
            .name_space = 3};
  }

  ManualClock clock_;
  Refusals refusals_{&clock_};
  std::vector<std::string> lines_;
};

TEST_F(RefusalsTest, AreALineACountAndAnEntryOfTheClientsList) {
  refusals_.Note(NoRoute());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0], "refused: POST /messages 404 (10.0.0.1:5) no route at /messages");
  EXPECT_EQ(refusals_.counts(), (RefusalCounts{{{404, "none"}, 1}}));
  const Json listed = refusals_.List(3);
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0]["state"].text(), "refused");
  EXPECT_EQ(listed[0]["status"].get<int>(), 404);
  EXPECT_EQ(listed[0]["api"].text(), "/messages");
  EXPECT_EQ(listed[0]["method"].text(), "POST");
  EXPECT_EQ(listed[0]["message"].text(), "no route at /messages");
  const std::string id = listed[0]["id"].text();
  EXPECT_FALSE(refusals_.Find(id, 3).is_null());
  EXPECT_TRUE(refusals_.Find(id, 4).is_null()) << "another client's";
  EXPECT_EQ(refusals_.List(4).size(), 0u);
}

TEST_F(RefusalsTest, CannotFillTheLogNorTheListOfOthers) {
  Refusal other = NoRoute();
  other.name_space = 4;
  refusals_.Note(other);
  for (int i = 0; i < 1000; ++i) refusals_.Note(NoRoute());
  EXPECT_EQ(lines_.size(), Refusals::kLinesMax);
  EXPECT_EQ(refusals_.List(3).size(), Refusals::kListedMax);
  EXPECT_EQ(refusals_.List(4).size(), 1u);
  EXPECT_EQ((refusals_.counts()[{404, "none"}]), 1001u);

  Refusal key = NoRoute();
  key.status = 401;
  refusals_.Note(key);
  EXPECT_EQ(lines_.size(), Refusals::kLinesMax + 1) << "another status has lines of its own";

  clock_.Advance(Refusals::kWindowMs);
  refusals_.Note(NoRoute());
  ASSERT_EQ(lines_.size(), Refusals::kLinesMax + 3);
  EXPECT_EQ(lines_[Refusals::kLinesMax + 1],
            "refused: 991 more with 404; cairn_http_refused_total counts all");
}

TEST_F(RefusalsTest, TextsOfClientsAreShortAndOnOneLine) {
  const std::string path = "/a\nrefused: GET / 200\x1b[31m\xff" + std::string(9000, 'p');
  Refusal odd = NoRoute();
  odd.path = path;
  refusals_.Note(odd);
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_TRUE(lines_[0].starts_with("refused: POST /a refused: GET / 200 [31m")) << lines_[0];
  EXPECT_LT(lines_[0].size(), 500u);
  EXPECT_NE(lines_[0].find("..."), std::string::npos);
}

TEST_F(RefusalsTest, WhoAsksWhetherTheServerIsReadyIsCountedAlone) {
  Refusal loading = NoRoute();
  loading.status = 503;
  loading.method = "GET";
  loading.route = "GET /health";
  refusals_.Note(loading);
  EXPECT_TRUE(lines_.empty());
  EXPECT_EQ(refusals_.List(3).size(), 0u);
  EXPECT_EQ(refusals_.counts(), (RefusalCounts{{{503, "GET /health"}, 1}}));
  loading.method = "POST";
  refusals_.Note(loading);
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(RefusalsTest, AreAMetricByStatusAndRoute) {
  refusals_.Note(NoRoute());
  MetricsPage page;
  AddRefusals(refusals_.counts(), &page);
  const std::string text = std::move(page).text();
  EXPECT_NE(text.find("\ncairn_http_refused_total{status=\"404\",route=\"none\"} 1\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace cairn::refusals_test
