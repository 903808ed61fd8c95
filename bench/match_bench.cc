// match: CheckpointCache::Match of a prompt. Its cost must depend on the prompt's length, not on
// the amount stored; so some prompts match deep in the tree, and others leave it early.

#include "benchmark.h"
#include "filled_cache.h"

namespace cairn::bench {
namespace {

Row MeasureMatches(FilledCache* filled, const std::string& what, const std::vector<Tokens>& prompts,
                   size_t runs) {
  Row row;
  row.what = what;
  CheckpointCache::MatchResult match;
  for (size_t run = 0; run < runs; ++run) {
    const Tokens& prompt = prompts[run % prompts.size()];
    row.ms.push_back(TimeMs([&] { match = filled->cache().Match(kNamespace, prompt); }));
  }
  row.note = std::to_string(match.shared) + " shared, " + std::to_string(match.checkpoints.size()) +
             " checkpoints";
  return row;
}

}  // namespace

Result<std::vector<Row>> BenchMatch(const BenchSizes& sizes) {
  FilledCache filled(sizes, "value", FilledCache::Room::kPlenty);
  const size_t tokens = sizes.prompt_tokens;
  std::vector<Row> rows;
  const auto measure = [&](const std::string& what, size_t same) {
    std::vector<Tokens> prompts;
    for (size_t i = 0; i < sizes.conversations; ++i) {
      prompts.push_back(filled.Diverged(i, same, tokens));
    }
    rows.push_back(MeasureMatches(&filled, what, prompts, sizes.runs));
  };
  measure("all of the prompt is stored", tokens);
  measure("diverges half-way", tokens / 2);
  measure("diverges after the header", sizes.header_tokens);
  measure("none of it is stored", 0);
  // The same numbers of tokens and checkpoints on one path: the deepest possible tree.
  BenchSizes one = sizes;
  one.conversations = 1;
  one.conversation_tokens *= sizes.conversations;
  one.conversation_checkpoints *= sizes.conversations;
  FilledCache deep(one, "value", FilledCache::Room::kPlenty);
  rows.push_back(MeasureMatches(&deep, "front of the only conversation",
                                {deep.Diverged(0, tokens, tokens)}, sizes.runs));
  return rows;
}

}  // namespace cairn::bench
