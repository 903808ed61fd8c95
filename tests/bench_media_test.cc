// The whole of `make bench-media`, at its smallest: all shows are played on one model, and the page
// is written. Without a llama-server the test is skipped.

#include "bench_script.h"

namespace cairn {
namespace {

class BenchMedia : public test::BenchScriptTest {
 protected:
  BenchMedia() { draws_plots_ = false; }
};

TEST_F(BenchMedia, WritesAPageWithEveryShowOfBothServers) {
  std::string page;
  Play("media", {}, "media_bench.md", &page);
  if (IsSkipped() || HasFatalFailure()) return;
  for (const char* part :
       {"## In short", "Beside llama-server, best flags: in ", "| llama | edit between them | 1 | ",
        "## After a restart", "| llama | the next turn | 1 | ",
        "| llama | 4 other questions | 4 | ", "| llama | turn 2 deleted, a new turn | 1 | ",
        "llama-server, no projector", "## Where Cairn is behind", "make bench-media QUICK=1",
        "cairn serve -m llama-64.gguf --mmproj mmproj-lfm2-64.gguf",
        "All servers counted the same length of every prompt.",
        // Each of two pictures once, by all three.
        "| Two pictures in a conversation | llama | six turns | 2 | 2 | 2 | 2 |",
        "| After a restart | llama | five turns before it | 2 | 2 | 2 | 2 |"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << " is not in\n" << page;
  }
  EXPECT_EQ(page.find(CAIRN_SOURCE_DIR), std::string::npos) << "a path of this machine\n" << page;
  RemoveAll();
}

}  // namespace
}  // namespace cairn
