// For tests: syntaxes as learned from the templates of well-known families.
// testdata/golden/call_syntax_of_families.txt lists what is learned from each template.

#ifndef CAIRN_CHAT_SYNTAX_KNOWN_CALL_SYNTAXES_H_
#define CAIRN_CHAT_SYNTAX_KNOWN_CALL_SYNTAXES_H_

#include <string>
#include <vector>

#include "chat/syntax/learned_calls.h"

namespace cairn::test {

inline LearnedCalls PairSyntax(std::string call_open, std::string name_end, std::string key_open,
                               std::string open, std::string close, std::string call_close) {
  LearnedCalls calls{.call_open = std::move(call_open),
                     .name_end = std::move(name_end),
                     .call_close = std::move(call_close),
                     .between = "\n",
                     .several = true};
  calls.arguments = LearnedCalls::Arguments::kPairs;
  calls.key_open = std::move(key_open);
  calls.string_open = calls.other_open = std::move(open);
  calls.string_close = calls.other_close = std::move(close);
  return calls;
}

// Returns one syntax of every kind.
inline std::vector<LearnedCalls> KnownCallSyntaxes() {
  using Id = LearnedCalls::Id;
  std::vector<LearnedCalls> all;
  // Qwen 3
  all.push_back({.call_open = "<tool_call>\n{\"name\": \"",
                 .name_end = "\", \"arguments\": ",
                 .call_close = "}\n</tool_call>",
                 .between = "\n",
                 .several = true,
                 .name_key = "name",
                 .arguments_key = "arguments"});
  // Mistral v3
  all.push_back({.block_open = "[TOOL_CALLS] [",
                 .call_open = "{\"name\": \"",
                 .name_end = "\", \"arguments\": ",
                 .call_close = "\"}",
                 .between = ", ",
                 .block_close = "]",
                 .several = true,
                 .id = Id::kBehindArguments,
                 .id_delimiter = ", \"id\": \"",
                 .name_key = "name",
                 .arguments_key = "arguments",
                 .id_key = "id"});
  // Kimi K2
  all.push_back({.block_open = "<|tool_calls_section_begin|>",
                 .call_open = "<|tool_call_begin|>",
                 .name_end = "<|tool_call_argument_begin|>",
                 .call_close = "<|tool_call_end|>",
                 .block_close = "<|tool_calls_section_end|>",
                 .several = true,
                 .id = Id::kHoldsName});
  // Mistral Small
  all.push_back({.call_open = "[TOOL_CALLS]", .name_end = "[ARGS]", .several = true});
  // Qwen 3 Coder
  all.push_back(PairSyntax("<tool_call>\n<function=", ">", "\n<parameter=", ">\n", "\n</parameter>",
                           "\n</function>\n</tool_call>"));
  // GLM 4.5
  all.push_back(PairSyntax("<tool_call>", "", "\n<arg_key>", "</arg_key>\n<arg_value>",
                           "</arg_value>", "\n</tool_call>"));
  // DeepSeek V3.2
  all.push_back(PairSyntax("\n<｜DSML｜invoke name=\"", "\">", "\n<｜DSML｜parameter name=\"",
                           "\" string=\"false\">", "</｜DSML｜parameter>", "\n</｜DSML｜invoke>"));
  all.back().block_open = "<｜DSML｜function_calls>";
  all.back().block_close = "\n</｜DSML｜function_calls>";
  all.back().between = "";
  all.back().string_open = "\" string=\"true\">";
  // Gemma 4
  all.push_back(PairSyntax("<|tool_call>call:", "{", "", ":", "", "}<tool_call|>"));
  all.back().string_open = ":<|\"|>";
  all.back().string_close = all.back().quote = "<|\"|>";
  all.back().pair_between = ",";
  all.back().strings = LearnedCalls::Strings::kQuoted;
  return all;
}

}  // namespace cairn::test

#endif  // CAIRN_CHAT_SYNTAX_KNOWN_CALL_SYNTAXES_H_
