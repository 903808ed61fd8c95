#include "cmd/llama_command_line.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cmd/serve/serve.h"

namespace cairn::environment_flags_test {
namespace {

using Words = std::vector<std::string>;

// Parses `flags` and what the environment adds; returns the error's text, or nothing.
std::string Serve(const Environment& environment, const Words& flags, ServeOptions* options) {
  CLI::App app;
  AddServe(&app, options);
  Words arguments = {"serve"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const auto read = ReadEnvironmentFlags(environment, arguments);
  if (!read) return read.error().message;
  arguments.insert(arguments.end(), read->arguments.begin(), read->arguments.end());
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(EnvironmentFlags, StandForFlagsThatTheCommandLineLeavesOut) {
  ServeOptions options;
  EXPECT_EQ(Serve({{"LLAMA_ARG_MODEL", "m.gguf"},
                   {"LLAMA_ARG_CTX_SIZE", "4096"},
                   {"LLAMA_ARG_TENSOR_SPLIT", "3,1"},
                   {"LLAMA_ARG_RPC", "a:50052,b:50053"},
                   {"LLAMA_ARG_TEMPERATURE", "0.25"},
                   {"LLAMA_ARG_ALIAS", "a b=c"}},
                  {}, &options),
            "");
  EXPECT_EQ(options.llama.model_path, "m.gguf");
  EXPECT_EQ(options.llama.context_tokens, 4096);
  EXPECT_EQ(options.llama.rpc_workers, (Words{"a:50052", "b:50053"}));
  EXPECT_EQ(options.llama.tensor_split, (std::vector<float>{3, 1}));
  EXPECT_FLOAT_EQ(options.defaults.sampling.temperature, 0.25F);
  EXPECT_EQ(options.alias, "a b=c");
}

TEST(EnvironmentFlags, LoseToTheCommandLineInEveryWayItNamesAFlag) {
  const Environment environment = {
      {"LLAMA_ARG_CTX_SIZE", "1"}, {"LLAMA_ARG_PORT", "1"}, {"LLAMA_ARG_MMAP", "1"}};
  for (const Words& flags :
       {Words{"-c", "512", "--port=9", "--no-mmap"}, Words{"-c512", "--port", "9", "--mmap=false"},
        Words{"--ctx-size=512", "--port", "9", "--no-mmap"}}) {
    ServeOptions options;
    Words all = {"-m", "m"};
    all.insert(all.end(), flags.begin(), flags.end());
    EXPECT_EQ(Serve(environment, all, &options), "");
    EXPECT_EQ(options.llama.context_tokens, 512);
    EXPECT_EQ(options.port, 9);
    EXPECT_FALSE(options.llama.use_mmap);
  }
}

TEST(EnvironmentFlags, SwitchFlagsOnAndOffInLlamaServersWords) {
  for (const std::string value : {"1", "true", "on", "enabled"}) {
    ServeOptions options;
    EXPECT_EQ(
        Serve({{"LLAMA_ARG_SWA_FULL", value}, {"LLAMA_ARG_CPU_MOE", value}}, {"-m", "m"}, &options),
        "");
    EXPECT_TRUE(options.llama.swa_full) << value;
    EXPECT_GT(options.llama.cpu_moe_layers, 0) << value;
  }
  for (const std::string value : {"0", "false", "off", "disabled"}) {
    ServeOptions options;
    EXPECT_EQ(Serve({{"LLAMA_ARG_KV_OFFLOAD", value}, {"LLAMA_ARG_CPU_MOE", value}}, {"-m", "m"},
                    &options),
              "");
    EXPECT_FALSE(options.llama.kv_offload) << value;
    EXPECT_EQ(options.llama.cpu_moe_layers, ServeOptions().llama.cpu_moe_layers) << value;
  }
  ServeOptions options;
  EXPECT_EQ(Serve({{"LLAMA_ARG_NO_MMAP", "anything"}}, {"-m", "m"}, &options), "");
  EXPECT_FALSE(options.llama.use_mmap);
}

TEST(EnvironmentFlags, AreNamedByTheErrorOfABadValue) {
  for (const auto& [name, value] : Environment{{"LLAMA_ARG_PORT", "99999"},
                                               {"LLAMA_ARG_CTX_SIZE", "many"},
                                               {"LLAMA_ARG_MMAP", "perhaps"},
                                               {"LLAMA_ARG_OVERRIDE_TENSOR", "no equals"}}) {
    ServeOptions options;
    const std::string error = Serve({{name, value}}, {"-m", "m"}, &options);
    EXPECT_NE(error.find(name), std::string::npos) << error;
    EXPECT_NE(error.find(value), std::string::npos) << error;
  }
}

TEST(EnvironmentFlags, AreIgnoredWhenTheyAreEmptyAndByOtherCommandsAndByHelp) {
  ServeOptions options;
  EXPECT_EQ(Serve({{"LLAMA_ARG_PORT", ""}, {"LLAMA_ARG_NO_MMAP", ""}}, {"-m", "m"}, &options), "");
  EXPECT_EQ(options.port, 8080);
  EXPECT_TRUE(options.llama.use_mmap);
  for (const Words& arguments : {Words{"top"}, Words{"serve", "--help"}, Words{}}) {
    const auto read = ReadEnvironmentFlags({{"LLAMA_ARG_PORT", "x"}}, arguments);
    ASSERT_TRUE(read.has_value());
    EXPECT_TRUE(read->arguments.empty());
  }
}

TEST(EnvironmentFlags, ThatNoFlagHasAreToldApart) {
  const auto read = ReadEnvironmentFlags({{"LLAMA_ARG_LOOKUP", "x"},
                                          {"LLAMA_ARG_PORT", "1"},
                                          {"LLAMA_ARG_NO_MODEL", "1"},
                                          {"LLAMA_ARG_TOOLS", "all"},
                                          {"HOME", "/"}},
                                         {"serve"});
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->notes.unknown_variables,
            (Words{"LLAMA_ARG_LOOKUP", "LLAMA_ARG_NO_MODEL", "LLAMA_ARG_TOOLS"}));
}

TEST(EnvironmentFlags, WithoutEffectHaveALine) {
  const auto read = ReadEnvironmentFlags(
      {{"LLAMA_ARG_NO_PERF", "1"}, {"LLAMA_ARG_THREADS_HTTP", "4"}, {"LLAMA_ARG_JINJA", "1"}},
      {"serve"});
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->arguments.empty());
  EXPECT_TRUE(read->notes.unknown_variables.empty());
  ASSERT_EQ(read->notes.lines.size(), 2u);
  EXPECT_TRUE(
      read->notes.lines[0].starts_with("environment variable LLAMA_ARG_NO_PERF has no effect"))
      << read->notes.lines[0];
}

TEST(EnvironmentFlags, AreTranslatedAsOnTheCommandLine) {
  ServeOptions options;
  EXPECT_EQ(Serve({{"LLAMA_ARG_LOAD_MODE", "mlock"},
                   {"LLAMA_ARG_FLASH_ATTN", "1"},
                   {"LLAMA_ARG_LOG_VERBOSITY", "2"}},
                  {"-m", "m"}, &options),
            "");
  EXPECT_FALSE(options.llama.use_mmap);
  EXPECT_TRUE(options.llama.use_mlock);
  EXPECT_EQ(options.llama.flash_attention, "on");
  EXPECT_EQ(options.log_level, "warning");
  const std::string error = Serve({{"LLAMA_ARG_SPLIT_MODE", "rows"}}, {"-m", "m"}, &options);
  EXPECT_EQ(error,
            "environment variable LLAMA_ARG_SPLIT_MODE takes none, layer, row or tensor, not "
            "'rows'; did you mean row?");
}

TEST(EnvironmentFlags, ShowInTheHelp) {
  CLI::App app;
  ServeOptions options;
  const CLI::App* serve = AddServe(&app, &options);
  EXPECT_NE(serve->help().find("LLAMA_ARG_CTX_SIZE"), std::string::npos);
  EXPECT_EQ(EnvironmentNote(*serve->get_option("--port")), ", env: LLAMA_ARG_PORT");
  EXPECT_EQ(EnvironmentNote(*serve->get_option("--grid")), "");
}

}  // namespace
}  // namespace cairn::environment_flags_test
