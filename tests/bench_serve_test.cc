// The whole of `make bench-serve`, at its smallest: servers are started and stopped, every workload
// is played on both, and the page is written. Without a llama-server the test is skipped.

#include "bench_script.h"

namespace cairn {
namespace {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CAIRN_THREAD_SANITIZER
#endif
#endif

class BenchServe : public test::BenchScriptTest {};

TEST_F(BenchServe, WritesAPageWithEveryWorkloadOfBothServers) {
#ifdef CAIRN_THREAD_SANITIZER
  GTEST_SKIP() << "glibc's getaddrinfo_a, by which the players connect in a bounded time, makes a "
                  "thread that the thread sanitizer does not know, and dies there";
#endif
  std::string page;
  Play("serve", {"STREAMS=20", "STREAM_SECONDS=2"}, "serve.md", &page);
  if (IsSkipped() || HasFatalFailure()) return;
  for (const char* part :
       {"## Speed", "## Ever more clients", "## Long prompts beside chats",
        "## Answers while a very long prompt is prefilled", "## Turns whose reasoning is left out",
        "## Many streams", "| cairn | llama-server | ours ÷ theirs |", "| broken streams | 0 | 0 |",
        "| whole streams | ", "memory of the server, peak", "(serve/first-token.svg)",
        "(serve/gaps.svg)", "make bench-serve WORKLOADS=", "# llama-server, llama-server b"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
  EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << "a path of this machine\n" << page;
  EXPECT_EQ(page.find(" ended early: "), std::string::npos) << page;
  EXPECT_EQ(page.find("not decided beforehand"), std::string::npos) << page;
  for (const char* plot : {"first-token.svg", "gaps.svg"}) {
    EXPECT_NE(Read(std::string("serve/") + plot).find("<svg "), std::string::npos) << plot;
  }
  ExpectNoServerLeft();
  RemoveAll();
}

}  // namespace
}  // namespace cairn
