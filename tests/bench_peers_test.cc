// The whole of `make bench-peers`, at its smallest: servers are started, restarted and stopped, and
// the page is written. Without a llama-server the test is skipped.

#include "bench_script.h"

namespace cairn {
namespace {

class BenchPeers : public test::BenchScriptTest {};

TEST_F(BenchPeers, WritesAPageWithPlotsAndWhatHolds) {
  std::string page;
  Play("bench_peers.sh", {}, "benchmarks.md", &page);
  if (IsSkipped() || HasFatalFailure()) return;
  for (const char* part :
       {"### 1. Hardly more is prefilled than must be", "### 2. Never more than the peer prefills",
        "### 3. The time to the first token", "| growing-chat | cairn |",
        "| restart | llama-server, best flags |", "(benchmarks/hybrid-qwen35-read.svg)",
        "--checkpoint-min-step 0", "make bench-peers SCALE=0.02", "Beside llama-server: **"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
  EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << "a path of this machine\n" << page;
  EXPECT_EQ(page.find(" failed: "), std::string::npos) << page;
  for (const char* plot : {"read", "first-token", "ratio"}) {
    const std::string name = std::string("hybrid-qwen35-") + plot + ".svg";
    EXPECT_NE(Read("benchmarks/" + name).find("<svg "), std::string::npos) << name;
  }
  ExpectNoServerLeft();
  RemoveAll();
}

}  // namespace
}  // namespace cairn
