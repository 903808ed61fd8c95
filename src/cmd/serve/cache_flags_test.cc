#include "cmd/serve/cache_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "base/memory_watch.h"
#include "cmd/short_flags.h"

namespace cairn {
namespace {

// What `cairn serve -m x` and these words come to.
ServeOptions Parsed(const std::string& words) {
  CLI::App app;
  ServeOptions options;
  AddServe(&app, &options);
  std::vector<std::string> arguments{"serve", "-m", "x"};
  std::istringstream in(words);
  for (std::string word; in >> word;) arguments.push_back(word);
  arguments = SpellOutShortFlags(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return options;
}

TEST(CacheFlags, ChooseAutoAndValueUnlessTold) {
  EXPECT_EQ(PlacementNames(Parsed("")), "auto");
  EXPECT_EQ(Parsed("").eviction, "value");
  EXPECT_EQ(PlacementNames(Parsed("--placement near-end,eog")), "near-end,eog");
  EXPECT_TRUE(StoresCheckpoints(Parsed("")));
}

TEST(CacheFlags, AnIntervalBringsItsPolicyWithIt) {
  const ServeOptions every_nb = Parsed("--checkpoint-every-nb 3");
  EXPECT_EQ(PlacementNames(every_nb), "auto,every-nb");
  EXPECT_EQ(ToPlacementOptions(every_nb).every_nb_batches, 3u);
  const ServeOptions both = Parsed("--placement every-nb -cpent 4096 --checkpoint-every-nb 5");
  EXPECT_EQ(PlacementNames(both), "every-nb,every-nt");
  EXPECT_EQ(ToPlacementOptions(both).every_nb_batches, 5u);
  EXPECT_EQ(ToPlacementOptions(both).every_nt_tokens, 4096u);
}

TEST(CacheFlags, EveryNTokensHasThreeNamesAndLlamaServersDefault) {
  EXPECT_EQ(ToPlacementOptions(Parsed("")).every_nt_tokens, 8192u);
  for (const char* name : {"-cpent", "--checkpoint-every-nt", "--checkpoint-every-n-tokens"}) {
    const ServeOptions options = Parsed(std::string(name) + " 100");
    EXPECT_EQ(ToPlacementOptions(options).every_nt_tokens, 100u);
  }
}

TEST(CacheFlags, NoIntervalIsNoPolicy) {
  for (const char* words : {"-cpent -1", "-cpent 0", "--checkpoint-every-nb 0"}) {
    EXPECT_EQ(PlacementNames(Parsed(words)), "auto") << words;
  }
  EXPECT_EQ(ToPlacementOptions(Parsed("-cpent -1")).every_nt_tokens, 0u);
}

TEST(CacheFlags, CacheRamIsAQuarterOfTheMachineOrWhatItIsTold) {
  EXPECT_EQ(ToCacheOptions(Parsed("")).ram_bytes_max,
            MakeMemoryWatch(SystemMemorySources())->Look().limit_bytes / 4);
  EXPECT_EQ(ToCacheOptions(Parsed("-cram 100")).ram_bytes_max, size_t{100} << 20);
  EXPECT_EQ(ToCacheOptions(Parsed("-cram -1")).ram_bytes_max, SIZE_MAX);
  EXPECT_FALSE(StoresCheckpoints(Parsed("-cram 0")));
}

TEST(CacheFlags, CtxCheckpointsCapAPathOnlyWhenGiven) {
  EXPECT_EQ(ToCacheOptions(Parsed("")).path_checkpoints_max, 0u);
  EXPECT_EQ(ToCacheOptions(Parsed("-ctxcp 32")).path_checkpoints_max, 32u);
  EXPECT_EQ(ToCacheOptions(Parsed("--swa-checkpoints 3")).path_checkpoints_max, 3u);
  EXPECT_FALSE(StoresCheckpoints(Parsed("--ctx-checkpoints 0")));
}

TEST(CacheFlags, MinStepKeepsItsShortForm) {
  EXPECT_EQ(ToCacheOptions(Parsed("-cms 256")).min_step_tokens, 256u);
}

TEST(CacheFlags, HelpHasALineForEveryPolicy) {
  CLI::App app;
  ServeOptions options;
  const std::string help = AddServe(&app, &options)->help();
  for (const auto& policies : {PlacementSummaries(), EvictionSummaries()}) {
    EXPECT_GT(policies.size(), 5u);
    for (const PolicySummary& policy : policies) {
      // Other flags may have the same words in their help.
      std::string line;
      for (size_t at = 0; line.empty() && (at = help.find(policy.summary, at)) != std::string::npos;
           ++at) {
        const std::string found = help.substr(help.rfind('\n', at) + 1);
        if (found.starts_with("  " + std::string(policy.name) + " ")) line = found;
      }
      ASSERT_FALSE(line.empty()) << policy.name;
      EXPECT_LE(line.find('\n'), 80u) << policy.name;
    }
  }
}

TEST(ServeFlags, WriteATraceOnlyWhenTold) {
  EXPECT_EQ(Parsed("").trace_out, "");
  EXPECT_EQ(Parsed("--trace-out day.jsonl").trace_out, "day.jsonl");
  EXPECT_EQ(Parsed("").trace_events, "");
  EXPECT_EQ(Parsed("--trace-events day.json").trace_events, "day.json");
}

TEST(CacheFlags, SlotsAreSavedToAFolderThatIsThere) {
  EXPECT_EQ(Parsed("").slot_save_path, "");
  const std::string folder = testing::TempDir();
  EXPECT_EQ(Parsed("--slot-save-path " + folder).slot_save_path, folder);
  EXPECT_THROW(Parsed("--slot-save-path /no/such/folder"), CLI::ValidationError);
}

}  // namespace
}  // namespace cairn
