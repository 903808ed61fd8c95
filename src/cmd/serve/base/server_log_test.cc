#include "cmd/serve/base/server_log.h"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <unistd.h>

#include <regex>
#include <sstream>
#include <string>

#include "base/fs.h"
#include "cmd/serve/base/serve_options.h"

namespace cairn {
namespace {

class ServerLogTest : public testing::Test {
 protected:
  ServerLog Log(LogFormat format, LogLevel level) {
    return {format, level, std::make_shared<spdlog::sinks::ostream_sink_mt>(out_)};
  }
  std::string Text() const { return out_.str(); }
  Json Parsed() const { return Json::parse(out_.str(), nullptr, /*allow_exceptions=*/false); }

 private:
  std::ostringstream out_;
};

TEST_F(ServerLogTest, ForPeopleIsATimeALevelAndTheLine) {
  Log(LogFormat::kHuman, LogLevel::kInfo).sink()(LogLevel::kWarning, "the disk is full");
  EXPECT_TRUE(
      std::regex_match(Text(), std::regex(R"(\d\d:\d\d:\d\d\.\d\d\d warning the disk is full\n)")))
      << Text();
}

TEST_F(ServerLogTest, ForProgramsIsOneObjectALine) {
  Log(LogFormat::kJson, LogLevel::kInfo).sink()(LogLevel::kError, "a \"quoted\"\nline \xff");
  const Json line = Parsed();
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["message"], "a \"quoted\"\nline \xEF\xBF\xBD");
  EXPECT_TRUE(std::regex_match(line["time"].get<std::string>(),
                               std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")))
      << line;
  EXPECT_EQ(Text().find('\n'), Text().size() - 1);
}

TEST_F(ServerLogTest, HasARequestsFieldsApartFromItsLine) {
  const Json fields = {{"id", "cmpl-1"}, {"queue_ms", 1.5}};
  Log(LogFormat::kJson, LogLevel::kInfo).request_sink()("cmpl-1 done", fields);
  EXPECT_EQ(Parsed()["message"], "cmpl-1 done");
  EXPECT_EQ(Parsed()["request"], fields);
  EXPECT_EQ(Parsed()["level"], "info");
}

TEST_F(ServerLogTest, HasARequestsLineAloneForPeople) {
  Log(LogFormat::kHuman, LogLevel::kInfo).request_sink()("cmpl-1 done", {{"id", "cmpl-1"}});
  EXPECT_TRUE(Text().ends_with(" info cmpl-1 done\n")) << Text();
}

TEST_F(ServerLogTest, HasLinesThatNoLevelLeavesOut) {
  Log(LogFormat::kHuman, LogLevel::kError).always()->info("ready: port {}", 7);
  EXPECT_TRUE(Text().ends_with(" info ready: port 7\n")) << Text();
}

TEST_F(ServerLogTest, LeavesOutWhatIsBelowItsLevel) {
  const ServerLog log = Log(LogFormat::kHuman, LogLevel::kWarning);
  log.sink()(LogLevel::kDebug, "one");
  log.sink()(LogLevel::kInfo, "two");
  log.request_sink()("three", {});
  EXPECT_EQ(Text(), "");
  log.sink()(LogLevel::kWarning, "four");
  EXPECT_NE(Text(), "");
}

TEST(LogNames, AreThoseOfTheFlags) {
  EXPECT_EQ(ParseLogFormat("json"), LogFormat::kJson);
  EXPECT_EQ(ParseLogFormat("xml"), std::nullopt);
  EXPECT_EQ(ParseLogLevel("debug"), LogLevel::kDebug);
  EXPECT_EQ(ParseLogLevel("loud"), std::nullopt);
}

TEST(ServerLogFile, GetsTheLinesTooAtOnce) {
  ServeOptions options;
  options.log_file = testing::TempDir() + "server_log_" + std::to_string(getpid()) + ".txt";
  const ServerLog log = MakeServerLog(options);
  log->info("a line");
  const auto text = ReadFile(options.log_file);
  ASSERT_TRUE(text.has_value());
  EXPECT_TRUE(text->ends_with(" info a line\n")) << *text;
  unlink(options.log_file.c_str());
}

TEST(ServerLogFile, ThatCannotBeWrittenEndsNothing) {
  ServeOptions options;
  options.log_file = "/proc/no such folder/log.txt";
  MakeServerLog(options)->info("a line");
}

}  // namespace
}  // namespace cairn
