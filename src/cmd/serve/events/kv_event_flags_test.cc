#include "cmd/serve/events/kv_event_flags.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fleet/events/pseudonymous_ids.h"
#include "testing/cmd/parsed_flags.h"

namespace cairn {
namespace {

using test::ParsedFlags;

const KvEventServer kServer = {"127.0.0.1", 8080, "model.gguf"};

Result<KvEventsOptions> Options(const std::string& flags, const KvEventServer& server = kServer) {
  return ToKvEventsOptions(ParsedFlags(flags).kv_events, server);
}

// The message of the error; a test fails where there is none.
std::string Refused(const std::string& flags, const KvEventServer& server = kServer) {
  const auto options = Options(flags, server);
  EXPECT_FALSE(options.has_value()) << flags;
  return options ? "" : options.error().message;
}

// A secret's file of this process alone: ctest runs each test in a process of its own, and several
// at once.
class KvEventSecret : public testing::Test {
 protected:
  ~KvEventSecret() override { std::filesystem::remove(path_); }

  // Returns the file's path; a later call replaces its text.
  const std::string& FileWith(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }

 private:
  const std::string path_ = testing::TempDir() + "kv_events_secret_" + std::to_string(getpid());
};

TEST(KvEventFlags, NothingIsPublishedWithoutAFlag) {
  const auto events = StartKvEvents(ParsedFlags("").kv_events, kServer, {});
  ASSERT_TRUE(events.has_value());
  EXPECT_EQ(*events, nullptr);
}

TEST(KvEventFlags, TheTopicNamesTheServerAndItsModel) {
  const std::string flags = "--kv-events tcp://127.0.0.1:5557 ";
  EXPECT_EQ(Options(flags)->topic, "kv@127.0.0.1:8080@model.gguf");
  EXPECT_EQ(Options(flags + "--kv-events-model m --kv-events-address a.example:80")->topic,
            "kv@a.example:80@m");
  EXPECT_EQ(Options(flags, {"::1", 8080, "m"})->topic, "kv@[::1]:8080@m");
  EXPECT_FALSE(Options(flags)->ids.pseudonymous());
}

TEST(KvEventFlags, AServerAtAnyAddressSaysItsOwn) {
  const std::string flags = "--kv-events tcp://127.0.0.1:5557 ";
  for (const char* any : {"0.0.0.0", "::"}) {
    EXPECT_NE(Refused(flags, {any, 8080, "m"}).find("--kv-events-address"), std::string::npos);
  }
  EXPECT_TRUE(Options(flags + "--kv-events-address 10.0.0.1:80", {"0.0.0.0", 8080, "m"}));
}

TEST_F(KvEventSecret, OtherAddressesThanLoopbackNeedOne) {
  for (const char* open : {"--kv-events tcp://*:5557", "--kv-events tcp://10.0.0.1:5557",
                           "--kv-events tcp://[fd00::1]:5557",
                           "--kv-events tcp://127.0.0.1:1 --kv-events-replay tcp://0.0.0.0:2"}) {
    EXPECT_NE(Refused(open).find("--kv-events-secret-file"), std::string::npos) << open;
    const std::string secret = FileWith("0123456789abcdef\n");
    const auto options = Options(std::string(open) + " --kv-events-secret-file " + secret);
    ASSERT_TRUE(options.has_value()) << options.error().message;
    EXPECT_TRUE(options->ids.pseudonymous());
  }
  for (const char* local : {"--kv-events tcp://127.0.0.9:5557", "--kv-events tcp://[::1]:5557",
                            "--kv-events tcp://localhost:5557"}) {
    EXPECT_TRUE(Options(local).has_value()) << local;
  }
}

TEST(KvEventFlags, WhatIsNoAddressIsRefused) {
  for (const char* bad : {"127.0.0.1:5557", "tcp://127.0.0.1", "tcp://:5557", "ipc:///tmp/x",
                          "tcp://127.0.0.1:70000", "tcp://127.0.0.1:x", "tcp://::1:5557"}) {
    EXPECT_NE(Refused("--kv-events " + std::string(bad)).find("expected tcp://ADDRESS:PORT"),
              std::string::npos)
        << bad;
  }
  const auto replay_alone =
      StartKvEvents(ParsedFlags("--kv-events-replay tcp://127.0.0.1:5558").kv_events, kServer, {});
  EXPECT_FALSE(replay_alone.has_value());
}

TEST(KvEventFlags, AModelWhoseNameSplitsATopicIsRefused) {
  const std::string flags = "--kv-events tcp://127.0.0.1:5557 ";
  EXPECT_NE(Refused(flags, {"127.0.0.1", 80, "a@b"}).find("--kv-events-model"), std::string::npos);
}

TEST_F(KvEventSecret, IsReadWithoutTheEndOfItsLineAndNeverRepeated) {
  const std::string flags = "--kv-events tcp://127.0.0.1:5557 --kv-events-secret-file ";
  const Tokens prompt = {1, 2, 3};
  const auto options = Options(flags + FileWith("a secret of some length\n"));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->ids.Of(prompt), PseudonymousIds("a secret of some length").Of(prompt));
  const std::string short_one = Refused(flags + FileWith("xyzzy \n"));
  EXPECT_NE(short_one.find("16"), std::string::npos);
  EXPECT_EQ(short_one.find("xyzzy"), std::string::npos);
  EXPECT_NE(Refused(flags + "/no/such/file").find("/no/such/file"), std::string::npos);
}

TEST_F(KvEventSecret, IsNotInTheLogThatSaysWhereEventsAre) {
  const std::string secret = "a secret of some length";
  std::string log;
  const auto events = StartKvEvents(
      ParsedFlags("--kv-events tcp://127.0.0.1:0 --kv-events-secret-file " + FileWith(secret))
          .kv_events,
      kServer, [&](LogLevel /*level*/, std::string_view line) { log += std::string(line) + "\n"; });
  ASSERT_TRUE(events.has_value()) << events.error().message;
  EXPECT_NE(log.find((*events)->events_endpoint()), std::string::npos);
  EXPECT_NE(log.find("pseudonymous"), std::string::npos);
  EXPECT_EQ(log.find(secret), std::string::npos);
}

}  // namespace
}  // namespace cairn
