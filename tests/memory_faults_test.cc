// The whole server when memory runs out: `ulimit -v` leaves it little more than it needs to start.

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "faulty_server.h"

namespace cairn {
namespace {

using test::Flags;
using test::Join;
using test::ServeCommand;

constexpr uint64_t kMib = uint64_t{1} << 20;

class MemoryFaultsTest : public test::FaultyServerTest {
 protected:
  // A shell sets the limit and becomes the server.
  void ServeWithin(uint64_t bytes, const Flags& flags) {
    const std::string limit = "ulimit -v " + std::to_string(bytes / 1024);
    const Flags small = {"-c", "8192", "--reuse", "exact", "-np", "1", "--max-body", "1024"};
    const Flags shell = {"sh", "-c", limit + "; exec \"$0\" \"$@\""};
    ServeAs({.argv = Join(shell, ServeCommand(Join(small, flags)))});
  }
  // Returns the bytes of address space of a server that answers and stores nothing.
  uint64_t BytesNeeded() {
    ServeWithin(uint64_t{1} << 40, {"--cache-disk", "0", "--cache-ram", "0"});
    for (int talk = 0; talk < 2; ++talk) Ask(LongTalk(talk));
    std::ifstream file("/proc/" + std::to_string(server_->pid()) + "/statm");
    uint64_t pages = 0;
    file >> pages;
    server_ = nullptr;
    return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
};

TEST_F(MemoryFaultsTest, TheCacheGivesUpWhatItHoldsAndAnswersGoOn) {
  const uint64_t needed = BytesNeeded();
  ASSERT_GT(needed, 10 * kMib);
  // Its needs, plus the reserve (at least 32 MiB) and as much again.
  ServeWithin(needed + 128 * kMib,
              {"--cache-disk", "0", "--cache-ram", "4096", "--checkpoint-every-nb", "1"});
  int talk = 0;
  while (talk < 200 && Metric("cairn_cache_shrinks_total") == 0) {
    Ask(LongTalk(talk++));
  }
  EXPECT_GT(Metric("cairn_cache_shrinks_total"), 0) << talk << " conversations";
  EXPECT_GT(Metric("cairn_cache_shrunk_bytes_total"), 0);
  EXPECT_LT(Metric("cairn_cache_limit_bytes"), 4096.0 * kMib);
  EXPECT_TRUE(IsHealthy());
  for (int i = 0; i < 3; ++i) AskAndCompare(Talk(talk + i));
  WaitUntil("it is said", [&] { return LinesWith("memory is short") > 0; });
  EXPECT_EQ(LinesWith("memory is short"), 1u);
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(MemoryFaultsTest, ARequestThatIsTooLargeForTheMemoryIsA503AndNoMore) {
  const uint64_t needed = BytesNeeded();
  ServeWithin(needed + 128 * kMib, {"--cache-disk", "0"});
  const Json small = Talk(0);
  AskAndCompare(small);
  std::string huge = R"({"messages": [{"role": "user", "content": ")";
  huge.append(200 * kMib, 'x');
  huge += R"("}]})";
  for (int i = 0; i < 2; ++i) {
    const auto reply = HttpClient(server_->url()).Post("/v1/chat/completions", huge);
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->status, 503) << reply->body;
    EXPECT_NE(reply->body.find("no memory left for this request"), std::string::npos)
        << reply->body;
    AskAndCompare(small);
  }
  EXPECT_TRUE(IsHealthy());
  EXPECT_EQ(server_->Stop(), 0) << server_->LastLines();
}

TEST_F(MemoryFaultsTest, TheUsualBudgetIsAQuarterOfWhatMayBeUsed) {
  const uint64_t limit = uint64_t{4} << 30;
  ServeWithin(limit, {"--cache-disk", "0"});
  EXPECT_LE(Metric("cairn_cache_limit_bytes"), static_cast<double>(limit) / 4);
}

}  // namespace
}  // namespace cairn
