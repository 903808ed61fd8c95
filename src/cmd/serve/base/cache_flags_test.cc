#include "cmd/serve/base/cache_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/memory_watch.h"
#include "cmd/serve/serve.h"
#include "policy/answer_pace.h"
#include "testing/cmd/parsed_flags.h"

namespace cairn {
namespace {

using test::ParsedFlags;

TEST(CacheFlags, ChooseAutoAndValueUnlessTold) {
  EXPECT_EQ(PlacementNames(ParsedFlags("")), "auto");
  EXPECT_EQ(ParsedFlags("").eviction, "value");
  EXPECT_EQ(PlacementNames(ParsedFlags("--placement near-end,eog")), "near-end,eog");
  EXPECT_TRUE(StoresCheckpoints(ParsedFlags("")));
}

TEST(SlotFlags, SlotsHaveStreamsWhereTheirNumberIsGivenAsInLlamaServer) {
  EXPECT_TRUE(UnifiedOf(ParsedFlags("")));
  EXPECT_FALSE(UnifiedOf(ParsedFlags("-np 2")));
  EXPECT_TRUE(UnifiedOf(ParsedFlags("-np 2 -kvu")));
  EXPECT_FALSE(UnifiedOf(ParsedFlags("-no-kvu")));
  // One stream is one buffer, which can be taken apart without copies.
  EXPECT_TRUE(UnifiedOf(ParsedFlags("-np 1")));
  EXPECT_FALSE(UnifiedOf(ParsedFlags("--reuse exact")));
}

TEST(CacheFlags, AnIntervalBringsItsPolicyWithIt) {
  const ServeOptions every_nb = ParsedFlags("--checkpoint-every-nb 3");
  EXPECT_EQ(PlacementNames(every_nb), "auto,every-nb");
  EXPECT_EQ(ToPlacementOptions(every_nb).every_nb_batches, 3u);
  const ServeOptions both = ParsedFlags("--placement every-nb -cpent 4096 --checkpoint-every-nb 5");
  EXPECT_EQ(PlacementNames(both), "every-nb,every-nt");
  EXPECT_EQ(ToPlacementOptions(both).every_nb_batches, 5u);
  EXPECT_EQ(ToPlacementOptions(both).every_nt_tokens, 4096u);
}

TEST(CacheFlags, EveryNTokensHasThreeNamesAndLlamaServersDefault) {
  EXPECT_EQ(ToPlacementOptions(ParsedFlags("")).every_nt_tokens, 8192u);
  for (const char* name : {"-cpent", "--checkpoint-every-nt", "--checkpoint-every-n-tokens"}) {
    const ServeOptions options = ParsedFlags(std::string(name) + " 100");
    EXPECT_EQ(ToPlacementOptions(options).every_nt_tokens, 100u);
  }
}

TEST(CacheFlags, NoIntervalIsNoPolicy) {
  for (const char* words : {"-cpent -1", "-cpent 0", "--checkpoint-every-nb 0"}) {
    EXPECT_EQ(PlacementNames(ParsedFlags(words)), "auto") << words;
  }
  EXPECT_EQ(ToPlacementOptions(ParsedFlags("-cpent -1")).every_nt_tokens, 0u);
}

TEST(CacheFlags, CacheRamIsAQuarterOfTheMachineOrWhatItIsTold) {
  EXPECT_EQ(ToCacheOptions(ParsedFlags("")).ram_bytes_max,
            MakeMemoryWatch(SystemMemorySources())->Look().limit_bytes / 4);
  EXPECT_EQ(ToCacheOptions(ParsedFlags("-cram 100")).ram_bytes_max, size_t{100} << 20);
  EXPECT_EQ(ToCacheOptions(ParsedFlags("-cram -1")).ram_bytes_max, SIZE_MAX);
  EXPECT_FALSE(StoresCheckpoints(ParsedFlags("-cram 0")));
}

TEST(CacheFlags, FittedCacheRamLeavesTheModelAndOthersTheirMemory) {
  constexpr uint64_t kGib = uint64_t{1} << 30;
  const auto fitting = [](uint64_t limit_gib, uint64_t left_gib, uint64_t mapped_gib) {
    MemoryRoom room;
    room.limit_bytes = limit_gib * kGib;
    room.left_bytes = left_gib * kGib;
    return static_cast<double>(FittingCacheBytes(room, mapped_gib * kGib)) /
           static_cast<double>(kGib);
  };
  EXPECT_EQ(fitting(64, 60, 0), 16) << "the model is on a GPU";
  EXPECT_EQ(fitting(64, 60, 40), 10) << "mapped weights count as left";
  EXPECT_EQ(fitting(24, 8, 0), 4);
  EXPECT_EQ(fitting(32, 20, 30), 1) << "a model that fills the machine";
  ServeOptions options = ParsedFlags("-cram 100");
  FitCacheToMemory(&options);
  EXPECT_EQ(options.cache_ram_mib, 100);
  options = ParsedFlags("");
  FitCacheToMemory(&options);
  EXPECT_GT(options.cache_ram_mib.value_or(0), 0);
  EXPECT_LE(CacheRamBytes(options), CacheRamBytes(ParsedFlags("")));
}

TEST(CacheFlags, CtxCheckpointsCapAPathOnlyWhenGiven) {
  EXPECT_EQ(ToCacheOptions(ParsedFlags("")).path_checkpoints_max, 0u);
  EXPECT_EQ(ToCacheOptions(ParsedFlags("-ctxcp 32")).path_checkpoints_max, 32u);
  EXPECT_EQ(ToCacheOptions(ParsedFlags("--swa-checkpoints 3")).path_checkpoints_max, 3u);
  EXPECT_FALSE(StoresCheckpoints(ParsedFlags("--ctx-checkpoints 0")));
}

TEST(CacheFlags, MinStepKeepsItsShortForm) {
  EXPECT_EQ(ToCacheOptions(ParsedFlags("-cms 256")).min_step_tokens, 256u);
}

TEST(CacheFlags, HelpHasALineForEveryPolicy) {
  CLI::App app;
  ServeOptions options;
  const std::string help = AddServe(&app, &options)->help();
  for (const auto& policies : {PlacementSummaries(), EvictionSummaries(), AnswerPaceSummaries()}) {
    EXPECT_GT(policies.size(), 2u);
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
  EXPECT_EQ(ParsedFlags("").trace_out, "");
  EXPECT_EQ(ParsedFlags("--trace-out day.jsonl").trace_out, "day.jsonl");
  EXPECT_EQ(ParsedFlags("").trace_events, "");
  EXPECT_EQ(ParsedFlags("--trace-events day.json").trace_events, "day.json");
}

TEST(CacheFlags, SlotsAreSavedToAFolderThatIsThere) {
  EXPECT_EQ(ParsedFlags("").slot_save_path, "");
  const std::string folder = testing::TempDir();
  EXPECT_EQ(ParsedFlags("--slot-save-path " + folder).slot_save_path, folder);
  EXPECT_THROW(ParsedFlags("--slot-save-path /no/such/folder"), CLI::ValidationError);
}

}  // namespace
}  // namespace cairn
