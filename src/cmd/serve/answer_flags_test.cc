#include "cmd/serve/answer_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/serve/serve.h"

namespace cairn {
namespace {

// What `cairn serve -m m` and these flags come to; the error's text when they are refused.
std::string Parse(std::vector<std::string> flags, ServeOptions* options) {
  CLI::App app;
  AddServe(&app, options);
  std::vector<std::string> arguments = {"serve", "-m", "m"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments = SpellOutShortFlags(arguments);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(AnswerFlags, SetWhatARequestLeavesOpen) {
  ServeOptions options;
  ASSERT_EQ(Parse({"--typical",
                   "0.9",
                   "--top-nsigma",
                   "1.5",
                   "--xtc-probability",
                   "0.5",
                   "--mirostat",
                   "2",
                   "--mirostat-lr",
                   "0.2",
                   "--mirostat-ent",
                   "4",
                   "--dry-multiplier",
                   "0.8",
                   "--dry-allowed-length",
                   "3",
                   "--ignore-eos",
                   "--n-predict",
                   "7",
                   "--dynatemp-range",
                   "0.3"},
                  &options),
            "");
  const SamplingParams& sampling = options.defaults.sampling;
  EXPECT_FLOAT_EQ(sampling.typical_p, 0.9F);
  EXPECT_FLOAT_EQ(sampling.top_n_sigma, 1.5F);
  EXPECT_FLOAT_EQ(sampling.xtc_probability, 0.5F);
  EXPECT_EQ(sampling.mirostat, 2);
  EXPECT_FLOAT_EQ(sampling.mirostat_eta, 0.2F);
  EXPECT_FLOAT_EQ(sampling.mirostat_tau, 4);
  EXPECT_FLOAT_EQ(sampling.dry.multiplier, 0.8F);
  EXPECT_EQ(sampling.dry.allowed_length, 3);
  EXPECT_EQ(sampling.dry.breakers, DryParams{}.breakers);
  EXPECT_FLOAT_EQ(sampling.dynatemp_range, 0.3F);
  EXPECT_TRUE(options.defaults.ignore_end);
  EXPECT_EQ(options.predict, 7);
}

TEST(AnswerFlags, ListsReplaceTheUsualOnes) {
  ServeOptions options;
  ASSERT_EQ(Parse({"--samplers", "top_k;temperature", "--dry-sequence-breaker", "none",
                   "--logit-bias", "97+1.5", "-l", "98-2"},
                  &options),
            "");
  const SamplingParams& sampling = options.defaults.sampling;
  EXPECT_EQ(sampling.order, (std::vector{SamplingStep::kTopK, SamplingStep::kTemperature}));
  EXPECT_TRUE(sampling.dry.breakers.empty());
  EXPECT_EQ(sampling.logit_bias, (std::vector<std::pair<Token, float>>{{97, 1.5F}, {98, -2.0F}}));
}

TEST(AnswerFlags, SayHowMuchReasoningThereIs) {
  ServeOptions options;
  ASSERT_EQ(
      Parse({"--reasoning-effort", "low", "--reasoning-budget", "512", "--reasoning-budget-message",
             " Time is up.", "--chat-template-kwargs", R"({"enable_thinking":true})"},
            &options),
      "");
  EXPECT_EQ(options.reasoning_effort, "low");
  EXPECT_EQ(options.defaults.reasoning.tokens_max, 512u);
  EXPECT_EQ(options.defaults.reasoning.message, " Time is up.");
  EXPECT_EQ(options.template_kwargs_json, R"({"enable_thinking":true})");
  ASSERT_EQ(Parse({"--reasoning-budget", "-1"}, &options), "");
  EXPECT_EQ(options.defaults.reasoning.tokens_max, std::nullopt);
  EXPECT_NE(Parse({"--reasoning-budget", "-2"}, &options).find("--reasoning-budget"),
            std::string::npos);
  EXPECT_NE(Parse({"--reasoning-effort", "most"}, &options).find("minimal"), std::string::npos);
  EXPECT_NE(Parse({"--chat-template-kwargs", "[1]"}, &options).find("--chat-template-kwargs"),
            std::string::npos);
}

TEST(AnswerFlags, TakeTheStepsThatAreOnlyTakenWhereTheyAreNamed) {
  ServeOptions options;
  ASSERT_EQ(Parse({"--samplers", "top_k;infill;adaptive_p", "--adaptive-target", "0.3",
                   "--adaptive-decay", "0.5"},
                  &options),
            "");
  EXPECT_EQ(options.defaults.sampling.order,
            (std::vector<SamplingStep>{SamplingStep::kTopK, SamplingStep::kInfill,
                                       SamplingStep::kAdaptiveP}));
  EXPECT_FLOAT_EQ(options.defaults.sampling.adaptive_target, 0.3F);
  EXPECT_FLOAT_EQ(options.defaults.sampling.adaptive_decay, 0.5F);
}

TEST(AnswerFlags, TakeAllNamesOfStepsThatRequestsMayHave) {
  ServeOptions options;
  ASSERT_EQ(Parse({"--samplers", "temp;top-k;temperature;typical"}, &options), "");
  EXPECT_EQ(options.defaults.sampling.order,
            (std::vector<SamplingStep>{SamplingStep::kTemperature, SamplingStep::kTopK,
                                       SamplingStep::kTypicalP}));
}

TEST(AnswerFlags, WhatCannotBeReadIsRefusedByName) {
  ServeOptions options;
  EXPECT_NE(Parse({"--samplers", "top_k;magic"}, &options).find("--samplers"), std::string::npos);
  EXPECT_NE(Parse({"--mirostat", "3"}, &options).find("--mirostat"), std::string::npos);
  for (const char* bias : {"97", "x+1", "+1", "97+", "97+x"}) {
    EXPECT_NE(Parse({"--logit-bias", bias}, &options).find("--logit-bias"), std::string::npos)
        << bias;
  }
}

TEST(AnswerFlags, AGrammarOrASchemaIsWhatAllAnswersMustBe) {
  ServeOptions options;
  EXPECT_EQ(*AnswerGrammarOf(options), "");
  options.grammar = "root ::= \"yes\" | \"no\"";
  EXPECT_EQ(*AnswerGrammarOf(options), options.grammar);
  options.json_schema = R"({"type":"boolean"})";
  EXPECT_FALSE(AnswerGrammarOf(options).has_value());
  options.grammar.clear();
  EXPECT_NE(AnswerGrammarOf(options)->find("root"), std::string::npos);
  options.json_schema = "{";
  EXPECT_FALSE(AnswerGrammarOf(options).has_value());
  options.json_schema.clear();
  options.grammar = "root ::= missing";
  EXPECT_FALSE(AnswerGrammarOf(options).has_value());
  options.grammar_file = "/nowhere/to/be.found";
  EXPECT_NE(AnswerGrammarOf(options).error().message.find("--grammar-file"), std::string::npos);
}

TEST(AnswerFlags, EmbeddingsAreAskedForByLlamaServersNames) {
  ServeOptions options;
  ASSERT_EQ(Parse({"--embedding", "--pooling", "last"}, &options), "");
  EXPECT_TRUE(options.embeddings);
  EXPECT_EQ(options.pooling, "last");
}

TEST(AnswerFlags, ReadEscapesUnlessTheyAreToldNotTo) {
  EXPECT_EQ(Unescaped(R"(a\nb\t\"\\\x41\q\)"), "a\nb\t\"\\A\\q\\");
  EXPECT_EQ(Unescaped(R"(\x4)"), R"(\x4)");
  ServeOptions options;
  ASSERT_EQ(Parse({"-r", R"(\nUser:)", "--dry-sequence-breaker", R"(\n)"}, &options), "");
  EXPECT_EQ(options.defaults.stop_texts, (std::vector<std::string>{"\nUser:"}));
  EXPECT_EQ(options.defaults.sampling.dry.breakers, (std::vector<std::string>{"\n"}));
  ASSERT_EQ(Parse({"-r", R"(\n)", "--no-escape"}, &options), "");
  EXPECT_EQ(options.defaults.stop_texts, (std::vector<std::string>{R"(\n)"}));
}

TEST(AnswerFlags, SetTheTemplatesVariablesForReasoning) {
  ServeOptions options;
  ASSERT_EQ(Parse({"--reasoning", "auto"}, &options), "");
  EXPECT_EQ(TemplateKwargsOf(options), "");
  ASSERT_EQ(Parse({"--reasoning", "on", "--no-reasoning-preserve", "--chat-template-kwargs",
                   R"({"thinking":false,"own":1})"},
                  &options),
            "");
  const std::string kwargs = TemplateKwargsOf(options);
  for (const char* part : {R"("enable_thinking":true)", R"("thinking":false)", R"("own":1)",
                           R"("preserve_thinking":false)", R"("clear_thinking":true)"}) {
    EXPECT_NE(kwargs.find(part), std::string::npos) << kwargs;
  }
}

TEST(AnswerFlags, TakeASeedOfAnyRequestAndTheUsualEffort) {
  ServeOptions options;
  ASSERT_EQ(Parse({"-s", "-1", "--reasoning-effort", "default"}, &options), "");
  EXPECT_EQ(options.defaults.sampling.seed, 0xFFFFFFFFU);
  EXPECT_EQ(options.reasoning_effort, "");
  ASSERT_EQ(Parse({"-s", "4294967295"}, &options), "");
  EXPECT_NE(Parse({"-s", "-2"}, &options), "");
}

}  // namespace
}  // namespace cairn
