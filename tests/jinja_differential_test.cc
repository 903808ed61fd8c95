// src/jinja beside Python's jinja2: fixed constructs, and random templates, must print the same
// bytes or be refused by both; and every byte must be where its origin says it is. Without python3
// and jinja2 the test is skipped. CAIRN_JINJA_CASES: how many random ones (make jinja plays
// 20,000).

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/json.h"
#include "jinja/template.h"
#include "testing/jinja/test_render.h"

namespace cairn::jinja {
namespace {

constexpr int kUsualCases = 1'500;

class Script {
 public:
  explicit Script(const std::string& arguments)
      : pipe_(popen(
            ("python3 " CAIRN_SOURCE_DIR "/scripts/templates/jinja_cases.py " + arguments + " 2>&1")
                .c_str(),
            "r")) {}
  ~Script() {
    if (pipe_ != nullptr) pclose(pipe_);
    std::free(line_);
  }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  bool ReadLine(std::string* line) {
    if (pipe_ == nullptr) return false;
    const ssize_t bytes = getline(&line_, &capacity_, pipe_);
    if (bytes <= 0) return false;
    line->assign(line_, static_cast<size_t>(bytes));
    if (line->ends_with('\n')) line->pop_back();
    return true;
  }

 private:
  FILE* const pipe_;
  char* line_ = nullptr;
  size_t capacity_ = 0;
};

// Differences that docs/decisions/0055-own-jinja.md lists.
bool IsKnownRefusal(const std::string& complaint) {
  for (const char* const known :
       {"more than 128 bits", "complex numbers", "object is not subscriptable", "not supported"}) {
    if (complaint.find(known) != std::string::npos) return true;
  }
  return false;
}

// Empty if both agree, or differ in a known way.
std::string Difference(const Json& expected, const test::Outcome& outcome) {
  const bool refused = expected.contains("error");
  const std::string wanted =
      refused ? "an error: " + expected["error"].text() : expected["out"].text();
  if (outcome.failed) {
    return refused || IsKnownRefusal(outcome.text)
               ? ""
               : "jinja2 prints\n" + wanted + "\nand here it is refused: " + outcome.text;
  }
  if (!refused && outcome.text == wanted) return test::WrongOrigin(outcome);
  return "jinja2 gives\n" + wanted + "\nand here it is\n" + outcome.text;
}

TEST(JinjaDifferential, PrintsTheSameBytesAsPythonsJinja2) {
  const char* const asked = std::getenv("CAIRN_JINJA_CASES");
  const int cases = asked == nullptr ? kUsualCases : std::atoi(asked);
  Script script("1 " + std::to_string(cases));
  std::string line;
  int played = 0;
  int different = 0;
  while (script.ReadLine(&line)) {
    if (!line.starts_with('{')) {
      if (played == 0) GTEST_SKIP() << line;
      FAIL() << line;
    }
    const Json expected = Json::parse(line);
    const std::string& source = expected["template"].text();
    ++played;
    const std::string difference =
        Difference(expected, test::RenderWithSources(source, expected["context"]));
    if (!difference.empty() && ++different <= 10) ADD_FAILURE() << source << "\n" << difference;
  }
  if (played == 0) GTEST_SKIP() << "python3 is not here";
  EXPECT_EQ(different, 0) << "of " << played;
  EXPECT_GE(played, cases);
}

}  // namespace
}  // namespace cairn::jinja
