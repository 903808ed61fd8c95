// The log of `cairn serve`: a line per request, for people or programs, and never its text.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "served.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;

constexpr char kSecret[] = "xyzzy-plugh-2718";

class ServeLogTest : public test::ServedTest {
 protected:
  void ServeInMemory(const Flags& flags) { Serve(Join({"--cache-disk", "0"}, flags)); }

  // Two prompts that diverge in the secret, so that their difference could be logged.
  std::vector<std::string> AskTwiceAndStop() {
    for (const char* end : {"1", "2"}) {
      const Json body = {{"max_tokens", 4},
                         {"temperature", 0},
                         {"messages",
                          {{{"role", "system"},
                            {"content", std::string(600, 's') + " at " + kSecret + end + " it is"}},
                           {{"role", "user"}, {"content", "hello"}}}}};
      ids_.push_back(Ask(body)["id"].get<std::string>());
    }
    EXPECT_EQ(server_->Stop(), 0);
    std::istringstream text(Log());
    EXPECT_EQ(text.str().find(kSecret), std::string::npos) << text.str();
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  std::vector<std::string> ids_;
};

TEST_F(ServeLogTest, SaysALineARequestThatPeopleCanRead) {
  ServeInMemory({});
  const auto lines = AskTwiceAndStop();
  for (const std::string& id : ids_) {
    size_t found = 0;
    for (const std::string& line : lines) {
      if (line.find(id + " done: ") == std::string::npos) continue;
      ++found;
      EXPECT_NE(line.find(" info "), std::string::npos) << line;
      EXPECT_NE(line.find(" prompt tokens, "), std::string::npos) << line;
    }
    EXPECT_EQ(found, 1u) << id;
  }
}

TEST_F(ServeLogTest, IsJsonLineByLineWithARequestsFieldsApart) {
  ServeInMemory({"--log-format", "json", "-v"});
  size_t requests = 0;
  bool ready = false;
  for (const std::string& text : AskTwiceAndStop()) {
    const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(line.is_object()) << text;
    ASSERT_TRUE(line.contains("time") && line.contains("level") && line.contains("message"))
        << text;
    ready = ready || line["message"].get<std::string>().starts_with("ready after ");
    if (!line.contains("request")) continue;
    EXPECT_EQ(line["request"]["id"], ids_.at(requests));
    EXPECT_EQ(line["request"]["state"], "done");
    EXPECT_EQ(line["request"]["generated_tokens"], 4);
    EXPECT_GT(line["request"]["reuse"]["prompt_tokens"], 600);
    ++requests;
  }
  EXPECT_TRUE(ready);
  EXPECT_EQ(requests, 2u);
}

TEST_F(ServeLogTest, TellsItsAddressAtEveryLevel) {
  for (const char* level : {"warning", "error"}) {
    for (const char* format : {"human", "json"}) {
      std::filesystem::remove(log_);
      // With --port 0 only this line has the server's address.
      ServeInMemory({"--log-level", level, "--log-format", format});
      ASSERT_NE(server_, nullptr) << level;
      EXPECT_EQ(server_->Stop(), 0);
      const std::string text = Log();
      EXPECT_NE(text.find("ready after "), std::string::npos) << text;
      EXPECT_NE(text.find(server_->url()), std::string::npos) << text;
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
    }
  }
}

TEST_F(ServeLogTest, SaysThatItFailedAsJsonToo) {
  const std::string command = std::string(CAIRN_PROGRAM) +
                              " serve --port 0 -m /no/such/file.gguf --log-format json 2>" + log_;
  EXPECT_NE(std::system(command.c_str()), 0);
  const Json line = Json::parse(Log(), nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(line["level"], "error");
  EXPECT_NE(line["message"].get<std::string>().find("/no/such/file.gguf"), std::string::npos);
}

TEST_F(ServeLogTest, RefusesFormatsAndLevelsThatThereAreNot) {
  for (const char* flag : {"--log-format xml", "--log-level loud"}) {
    const std::string command =
        std::string(CAIRN_PROGRAM) + " serve -m x.gguf " + flag + " >" + log_ + " 2>&1";
    EXPECT_NE(std::system(command.c_str()), 0);
    EXPECT_NE(Log().find(std::string(flag).substr(0, 11)), std::string::npos);
  }
}

}  // namespace
}  // namespace cairn
