#include "conformance/page.h"

#include <algorithm>
#include <functional>

namespace cairn::conformance {
namespace {

constexpr std::string_view kIntroduction =
    "# Architectures\n"
    "\n"
    "What libllama can do with the memory of each architecture, and what Cairn's promises rest "
    "on.\n"
    "`make conformance` writes this page and `src/engine/architectures.tsv`, which the build puts\n"
    "into the program. A test fails when the two part.\n"
    "\n"
    "The models are small ones with random weights, one of each architecture that llama.cpp's own\n"
    "`test-llama-archs` can make, dense or with experts. Each check runs in a process of its own.\n"
    "\n"
    "| column | meaning |\n"
    "| --- | --- |\n"
    "| memory | what it takes to go back: `MemoryClass` in `src/engine/engine.h` |\n"
    "| grid | the smallest number of tokens at whose multiples a prompt may be cut without changing"
    " a bit, of 1, 16, 32, 64, 128 and 256, as far as a probe can tell. *not found*: the model's "
    "context is too short to try 64 |\n"
    "| snapshot | the state that cannot be rolled back, taken at several positions (the window's"
    " edges among them) and set back after the run went on, gives the same bits |\n"
    "| resumes | how many of 12 resumes at random multiples of 64 tokens (of the grid, where that "
    "is larger) gave the bits of a cold"
    " run, through the engine that serves: by snapshot, and by a cut where the memory allows one "
    "|\n"
    "| segments | attention KV moved out in ranges and back in, whole, in part, and onto a kept"
    " front, gives the same bits |\n"
    "| whole | all that a sequence holds, taken out and set back, gives the same bits where it "
    "was, "
    "and in another stream while the first holds another prompt; set beside a neighbour in one "
    "memory, it is the same to the byte |\n"
    "\n"
    "*exact* is every bit of every logit. *aborts*: libllama ends the process, so Cairn never calls"
    " it there.\n"
    "*none*: there is no such memory. *-*: not tried, as Cairn does not load such a model.\n"
    "A probe for the grid tries more cuts than 12 resumes do, so a row may say that there is none\n"
    "and still have 12 of 12: such a model was seen to differ, if seldom.\n"
    "An architecture whose segments are not exact, or that is not on this page, has no "
    "segments.\n";

size_t Count(const ArchitectureTable& table,
             const std::function<bool(const ArchitectureRow&)>& wanted) {
  return static_cast<size_t>(std::count_if(table.rows.begin(), table.rows.end(), wanted));
}

std::string Summary(const ArchitectureTable& table) {
  const auto number = [&](const auto& wanted) { return std::to_string(Count(table, wanted)); };
  const auto with_memory = [](const ArchitectureRow& row) { return row.memory != "none"; };
  return "Made with " + table.made_with + ": " + std::to_string(table.rows.size()) + " models, " +
         number(with_memory) + " of them with a memory. Snapshots exact: " +
         number([](const ArchitectureRow& row) { return row.snapshot == "exact"; }) +
         ". All resumes exact: " +
         number([](const ArchitectureRow& row) { return row.exactness == "12 of 12"; }) +
         ". Segments exact: " +
         number([](const ArchitectureRow& row) { return row.segments == "exact"; }) +
         ", and none there to move: " +
         number([](const ArchitectureRow& row) { return row.segments == "none"; }) +
         ". Whole states exact: " +
         number([](const ArchitectureRow& row) { return row.whole == "exact"; }) + ".\n";
}

}  // namespace

std::string RenderPage(const ArchitectureTable& table) {
  std::string page(kIntroduction);
  page += "\n" + Summary(table) + "\n";
  page += "| architecture | model | memory | grid | snapshot | resumes | segments | whole |\n";
  page += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ArchitectureRow& row : table.rows) {
    page += "| `" + row.architecture + "` | " + row.variant + " | " + row.memory + " | " +
            row.grid + " | " + row.snapshot + " | " + row.exactness + " | " + row.segments + " | " +
            row.whole + " |\n";
  }
  return page;
}

}  // namespace cairn::conformance
