#include "conformance/page.h"

#include <algorithm>
#include <functional>

namespace cairn::conformance {
namespace {

constexpr std::string_view kIntroduction =
    "# Architectures\n"
    "\n"
    "This page shows what libllama can do with the memory of each architecture; Cairn's"
    " guarantees\n"
    "depend on it. `make conformance` writes this page and `src/engine/architectures.tsv`,"
    " which the\n"
    "build compiles into the program. A test fails when the two differ.\n"
    "\n"
    "The models are small ones with random weights, one of each architecture that llama.cpp's"
    " own\n"
    "`test-llama-archs` can make, dense or with experts. Each check runs in a process of its"
    " own.\n"
    "\n"
    "| column | meaning |\n"
    "| --- | --- |\n"
    "| memory | what a resume at an earlier position needs: `MemoryClass` in"
    " `src/engine/engine.h` |\n"
    "| grid | the smallest number of tokens at whose multiples a prompt may be cut without"
    " changing a bit, of 1, 16, 32, 64, 128 and 256, as far as a probe can tell. *none*: each that"
    " the model's context is long enough to try was disproved. *not"
    " found*: the probe did not end in time |\n"
    "| snapshot | the state that cannot be rolled back, taken at several positions (the"
    " window's edges among them) and set again after the run continued, gives the same bits |\n"
    "| resumes | how many of 12 resumes gave the bits of a cold run, through the serving engine:"
    " at random multiples of 64 tokens (of the grid, if that is larger), and in prompts that are"
    " cut at random messages too; by snapshot, and by truncation if the memory allows it |\n"
    "| segments | attention KV moved out in ranges and set again, completely, in part, and"
    " onto a kept front, gives the same bits |\n"
    "| whole | the full state of a sequence, taken and set again, gives the same bits in its"
    " old place, and in another stream while the first holds another prompt; set beside a"
    " neighbour in one memory, it is the same to the byte |\n"
    "\n"
    "*exact* means every bit of every logit. *aborts*: libllama ends the process, so Cairn"
    " never calls\n"
    "it there. *none*: there is no such memory. *-*: not tested, because Cairn does not load"
    " such a\n"
    "model. A probe for the grid tries more cuts than 12 resumes do, so a row may have no"
    " grid and still\n"
    "12 of 12: such a model was seen to differ, but rarely, and other prompts give other"
    " counts. An\n"
    "architecture whose segments are not exact, or that is not on this page, has no"
    " segments.\n";

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
         ", without memory to move: " +
         number([](const ArchitectureRow& row) { return row.segments == "none"; }) +
         ". Full states exact: " +
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
