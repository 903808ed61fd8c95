#include "conformance/child_process.h"

#include <gtest/gtest.h>

namespace cairn::conformance {
namespace {

ChildResult RunScript(const std::string& script, int timeout_ms = 60'000) {
  ChildOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.timeout_ms = timeout_ms;
  const auto result = RunChild(options);
  EXPECT_TRUE(result.has_value());
  return result.value_or(ChildResult());
}

TEST(ChildProcess, GivesBackOutputAndExitCode) {
  const ChildResult result = RunScript("echo one; echo two; echo lost >&2; exit 3");
  EXPECT_EQ(result.output, "one\ntwo\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.timed_out);
}

TEST(ChildProcess, SurvivesAChildThatAborts) {
  const ChildResult result = RunScript("echo before; kill -ABRT $$");
  EXPECT_EQ(result.output, "before\n");
  EXPECT_FALSE(result.exit_code.has_value());
  EXPECT_FALSE(result.timed_out);
}

TEST(ChildProcess, EndsAChildThatTakesTooLong) {
  const ChildResult result = RunScript("echo before; exec sleep 600", 200);
  EXPECT_EQ(result.output, "before\n");
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.exit_code.has_value());
}

TEST(ChildProcess, SaysWhyAProgramCannotBeStarted) {
  ChildOptions options;
  options.argv = {"/nonexistent/program"};
  const auto result = RunChild(options);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "cannot run /nonexistent/program: No such file or directory");
}

}  // namespace
}  // namespace cairn::conformance
