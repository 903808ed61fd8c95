#include "chat/syntax/named_calls.h"

namespace cairn {

const LearnedCalls& GraniteSyntax() {
  static const auto* const calls = new LearnedCalls{.block_open = "<|tool_call|>[",
                                                    .call_open = "{\"name\": \"",
                                                    .name_end = "\", \"arguments\": ",
                                                    .call_close = "}",
                                                    .between = ", ",
                                                    .block_close = "]<|/tool_call|>",
                                                    .several = true,
                                                    .exact = true,
                                                    .name_key = "name",
                                                    .arguments_key = "arguments"};
  return *calls;
}

const LearnedCalls& HermesSyntax() {
  static const auto* const calls = new LearnedCalls{.call_open = "<tool_call>\n{\"name\": \"",
                                                    .name_end = "\", \"arguments\": ",
                                                    .call_close = "}\n</tool_call>",
                                                    .between = "\n",
                                                    .several = true,
                                                    .exact = true,
                                                    .name_key = "name",
                                                    .arguments_key = "arguments"};
  return *calls;
}

const LearnedCalls& MistralSyntax() {
  static const auto* const calls = new LearnedCalls{.call_open = "[TOOL_CALLS]",
                                                    .name_end = "[ARGS]",
                                                    .several = true,
                                                    .id = LearnedCalls::Id::kBehindName,
                                                    .id_delimiter = "[CALL_ID]"};
  return *calls;
}

const LearnedCalls& QwenXmlSyntax() {
  static const auto* const calls = new LearnedCalls{.call_open = "<tool_call>\n<function=",
                                                    .name_end = ">",
                                                    .call_close = "\n</function>\n</tool_call>",
                                                    .between = "\n",
                                                    .several = true,
                                                    .exact = true,
                                                    .arguments = LearnedCalls::Arguments::kPairs,
                                                    .key_open = "\n<parameter=",
                                                    .string_open = ">\n",
                                                    .string_close = "\n</parameter>",
                                                    .other_open = ">\n",
                                                    .other_close = "\n</parameter>"};
  return *calls;
}

}  // namespace cairn
