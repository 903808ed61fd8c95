// Chat templates by llama.cpp's names, for models whose files have none or a wrong one. They know
// turns only: system, user and assistant; neither tools nor reasoning.

#include <array>
#include <map>
#include <string>

#include "chat/template/builtin_templates.h"

namespace cairn {
namespace {

// The texts before and after another one.
struct Around {
  std::string_view before;
  std::string_view after;
};

struct TurnFormat {
  std::string_view name;
  std::string_view begin = {};
  std::string_view no_system = {};  // printed where the first message is no system message
  Around system = {};
  bool system_in_user = false;    // printed in the next user turn, before its text
  std::string_view between = {};  // before a user turn that is not the first turn
  Around user = {};
  Around answer = {};
  std::string_view generation = {};
};

constexpr std::array<TurnFormat, 51> kFormats = {{
    {.name = "bailing",
     .system = {"<role>SYSTEM</role>", ""},
     .user = {"<role>HUMAN</role>", ""},
     .answer = {"<role>ASSISTANT</role>", ""},
     .generation = "<role>ASSISTANT</role>"},
    {.name = "bailing-think",
     .system = {"<role>SYSTEM</role>", ""},
     .user = {"<role>HUMAN</role>", ""},
     .answer = {"<role>ASSISTANT</role>", ""},
     .generation = "<role>ASSISTANT</role><think>"},
    {.name = "bailing2",
     .no_system = "<role>SYSTEM</role>detailed thinking off<|role_end|>",
     .system = {"<role>SYSTEM</role>", "<|role_end|>"},
     .user = {"<role>HUMAN</role>", "<|role_end|>"},
     .answer = {"<role>ASSISTANT</role>", "<|role_end|>"},
     .generation = "<role>ASSISTANT</role>"},
    {.name = "chatglm3",
     .begin = "[gMASK]sop",
     .system = {"<|system|>\n ", ""},
     .user = {"<|user|>\n ", ""},
     .answer = {"<|assistant|>\n ", ""},
     .generation = "<|assistant|>"},
    {.name = "chatglm4",
     .begin = "[gMASK]<sop>",
     .system = {"<|system|>\n", ""},
     .user = {"<|user|>\n", ""},
     .answer = {"<|assistant|>\n", ""},
     .generation = "<|assistant|>\n"},
    {.name = "command-r",
     .system = {"<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     .user = {"<|START_OF_TURN_TOKEN|><|USER_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     .answer = {"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"},
     .generation = "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>"},
    {.name = "deepseek",
     .system = {"", ""},
     .user = {"### Instruction:\n", "\n"},
     .answer = {"### Response:\n", "\n<|EOT|>\n"},
     .generation = "### Response:\n"},
    {.name = "deepseek-ocr", .system = {"", ""}, .user = {"", ""}, .answer = {"", ""}},
    {.name = "deepseek2",
     .system = {"", "\n\n"},
     .user = {"User: ", "\n\n"},
     .answer = {"Assistant: ", "<｜end▁of▁sentence｜>"},
     .generation = "Assistant:"},
    {.name = "deepseek3",
     .system = {"", "\n\n"},
     .user = {"<｜User｜>", ""},
     .answer = {"<｜Assistant｜>", "<｜end▁of▁sentence｜>"},
     .generation = "<｜Assistant｜>"},
    {.name = "exaone-moe",
     .system = {"<|system|>\n", "<|endofturn|>\n"},
     .user = {"<|user|>\n", "<|endofturn|>\n"},
     .answer = {"<|assistant|>\n", "<|endofturn|>\n"},
     .generation = "<|assistant|>\n"},
    {.name = "exaone3",
     .system = {"[|system|]", "[|endofturn|]\n"},
     .user = {"[|user|]", "\n"},
     .answer = {"[|assistant|]", "[|endofturn|]\n"},
     .generation = "[|assistant|]"},
    {.name = "exaone4",
     .system = {"[|system|]", "[|endofturn|]\n"},
     .user = {"[|user|]", "\n"},
     .answer = {"[|assistant|]", "[|endofturn|]\n"},
     .generation = "[|assistant|]"},
    {.name = "falcon3",
     .system = {"<|system|>\n", "\n"},
     .user = {"<|user|>\n", "\n"},
     .answer = {"<|assistant|>\n", "\n"},
     .generation = "<|assistant|>\n"},
    {.name = "gigachat",
     .begin = "<s>",
     .system = {"", "<|message_sep|>"},
     .user = {"user<|role_sep|>",
              "<|message_sep|>available functions<|role_sep|>[]<|message_sep|>"},
     .answer = {"assistant<|role_sep|>", "<|message_sep|>"},
     .generation = "assistant<|role_sep|>"},
    {.name = "glmedge",
     .system = {"<|system|>\n", ""},
     .user = {"<|user|>\n", ""},
     .answer = {"<|assistant|>\n", ""},
     .generation = "<|assistant|>"},
    {.name = "gpt-oss",
     .system = {"<|start|>system<|message|>", "<|end|>"},
     .user = {"<|start|>user<|message|>", "<|end|>"},
     .answer = {"<|start|>assistant<|message|>", "<|return|>"},
     .generation = "<|start|>assistant"},
    {.name = "granite",
     .system = {"<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>\n"},
     .user = {"<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"},
     .answer = {"<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"},
     .generation = "<|start_of_role|>assistant<|end_of_role|>"},
    {.name = "granite-4.0",
     .system = {"<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>\n"},
     .user = {"<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"},
     .answer = {"<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"},
     .generation = "<|start_of_role|>assistant<|end_of_role|>"},
    {.name = "granite-4.1",
     .system = {"<|start_of_role|>system<|end_of_role|>", "<|end_of_text|>\n"},
     .user = {"<|start_of_role|>user<|end_of_role|>", "<|end_of_text|>\n"},
     .answer = {"<|start_of_role|>assistant<|end_of_role|>", "<|end_of_text|>\n"},
     .generation = "<|start_of_role|>assistant<|end_of_role|>"},
    {.name = "grok-2",
     .system = {"System: ", "<|separator|>\n\n"},
     .user = {"Human: ", "<|separator|>\n\n"},
     .answer = {"Assistant: ", "<|separator|>\n\n"},
     .generation = "Assistant:"},
    {.name = "hunyuan-dense",
     .system = {"", "<｜hy_place▁holder▁no▁3｜>"},
     .user = {"<｜hy_User｜>", "<｜hy_Assistant｜>"},
     .answer = {"<｜hy_Assistant｜>", "<｜hy_place▁holder▁no▁2｜>"}},
    {.name = "hunyuan-moe",
     .system = {"<|startoftext|>", "<|extra_4|>"},
     .user = {"<|startoftext|>", "<|extra_0|>"},
     .answer = {"", "<|eos|>"}},
    {.name = "hunyuan-vl",
     .begin = "<｜hy_begin▁of▁sentence｜>",
     .system = {"", "<｜hy_place▁holder▁no▁3｜>"},
     .user = {"", "<｜hy_User｜>"},
     .answer = {"", "<｜hy_Assistant｜>"}},
    {.name = "kimi-k2",
     .system = {"<|im_system|>system<|im_middle|>", "<|im_end|>"},
     .user = {"<|im_user|>user<|im_middle|>", "<|im_end|>"},
     .answer = {"<|im_assistant|>assistant<|im_middle|>", "<|im_end|>"},
     .generation = "<|im_assistant|>assistant<|im_middle|>"},
    {.name = "llama2",
     .system = {"", "\n"},
     .system_in_user = true,
     .user = {"[INST] ", " [/INST]"},
     .answer = {"", "</s>"}},
    {.name = "llama2-sys",
     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .system_in_user = true,
     .user = {"[INST] ", " [/INST]"},
     .answer = {"", "</s>"}},
    {.name = "llama2-sys-bos",
     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .system_in_user = true,
     .between = "<s>",
     .user = {"[INST] ", " [/INST]"},
     .answer = {"", "</s>"}},
    {.name = "llama2-sys-strip",
     .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
     .system_in_user = true,
     .user = {"[INST] ", " [/INST]"},
     .answer = {"", "</s>"}},
    {.name = "llama4",
     .system = {"<|header_start|>system<|header_end|>\n\n", "<|eot|>"},
     .user = {"<|header_start|>user<|header_end|>\n\n", "<|eot|>"},
     .answer = {"<|header_start|>assistant<|header_end|>\n\n", "<|eot|>"},
     .generation = "<|header_start|>assistant<|header_end|>\n\n"},
    {.name = "megrez",
     .system = {"<|role_start|>system<|role_end|>", "<|turn_end|>"},
     .user = {"<|role_start|>user<|role_end|>", "<|turn_end|>"},
     .answer = {"<|role_start|>assistant<|role_end|>", "<|turn_end|>"},
     .generation = "<|role_start|>assistant<|role_end|>"},
    {.name = "minicpm",
     .system = {"", ""},
     .user = {"<用户>", ""},
     .answer = {"<AI>", ""},
     .generation = "<AI>"},
    {.name = "mistral-v1",
     .system = {"", "\n\n"},
     .system_in_user = true,
     .user = {" [INST] ", " [/INST]"},
     .answer = {" ", "</s>"}},
    {.name = "mistral-v3",
     .system = {"", "\n\n"},
     .system_in_user = true,
     .user = {"[INST] ", "[/INST]"},
     .answer = {" ", "</s>"}},
    {.name = "mistral-v3-tekken",
     .system = {"", "\n\n"},
     .system_in_user = true,
     .user = {"[INST]", "[/INST]"},
     .answer = {"", "</s>"}},
    {.name = "mistral-v7",
     .system = {"[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]"},
     .user = {"[INST] ", "[/INST]"},
     .answer = {" ", "</s>"}},
    {.name = "mistral-v7-tekken",
     .system = {"[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"},
     .user = {"[INST]", "[/INST]"},
     .answer = {"", "</s>"}},
    {.name = "monarch",
     .system = {"system\n", "</s>\n"},
     .between = "<s>",
     .user = {"user\n", "</s>\n"},
     .answer = {"<s>assistant\n", "</s>\n"},
     .generation = "<s>assistant\n"},
    {.name = "openchat",
     .system = {"", "<|end_of_turn|>"},
     .user = {"GPT4 Correct User: ", "<|end_of_turn|>"},
     .answer = {"GPT4 Correct Assistant: ", "<|end_of_turn|>"},
     .generation = "GPT4 Correct Assistant:"},
    {.name = "orion",
     .system = {"", "\n\n"},
     .system_in_user = true,
     .user = {"Human: ", "\n\n"},
     .answer = {"Assistant: </s>", "</s>"},
     .generation = "Assistant: </s>"},
    {.name = "pangu-embedded",
     .no_system = "[unused9]系统：[unused10]",
     .system = {"[unused9]系统：", "[unused10]"},
     .user = {"[unused9]用户：", "[unused10]"},
     .answer = {"[unused9]助手：", "[unused10]"},
     .generation = "[unused9]助手："},
    {.name = "phi3",
     .system = {"<|system|>\n", "<|end|>\n"},
     .user = {"<|user|>\n", "<|end|>\n"},
     .answer = {"<|assistant|>\n", "<|end|>\n"},
     .generation = "<|assistant|>\n"},
    {.name = "phi4",
     .system = {"<|im_start|>system<|im_sep|>", "<|im_end|>"},
     .user = {"<|im_start|>user<|im_sep|>", "<|im_end|>"},
     .answer = {"<|im_start|>assistant<|im_sep|>", "<|im_end|>"},
     .generation = "<|im_start|>assistant<|im_sep|>"},
    {.name = "rwkv-world",
     .system = {"System: ", "\n\n"},
     .user = {"User: ", "\n\n"},
     .answer = {"Assistant: ", "\n\n"},
     .generation = "Assistant:"},
    {.name = "seed_oss",
     .system = {"<seed:bos>system\n", "<seed:eos>"},
     .user = {"<seed:bos>user\n", "<seed:eos>"},
     .answer = {"<seed:bos>assistant\n", "<seed:eos>"},
     .generation = "<seed:bos>assistant\n"},
    {.name = "smolvlm",
     .begin = "<|im_start|>",
     .system = {"", "\n\n"},
     .user = {"User: ", "<end_of_utterance>\n"},
     .answer = {"Assistant: ", "<end_of_utterance>\n"},
     .generation = "Assistant:"},
    {.name = "solar-open",
     .system = {"<|begin|>system<|content|>", "<|end|>"},
     .user = {"<|begin|>user<|content|>", "<|end|>"},
     .answer = {"<|begin|>assistant<|content|>", "<|end|>"},
     .generation = "<|begin|>assistant"},
    {.name = "vicuna",
     .system = {"", "\n\n"},
     .user = {"USER: ", "\n"},
     .answer = {"ASSISTANT: ", "</s>\n"},
     .generation = "ASSISTANT:"},
    {.name = "vicuna-orca",
     .system = {"SYSTEM: ", "\n"},
     .user = {"USER: ", "\n"},
     .answer = {"ASSISTANT: ", "</s>\n"},
     .generation = "ASSISTANT:"},
    {.name = "yandex",
     .system = {"", "\n\n"},
     .system_in_user = true,
     .user = {" Пользователь: ", "\n\n"},
     .answer = {" Ассистент: ", "\n\n"},
     .generation = " Ассистент:[SEP]"},
    {.name = "zephyr",
     .system = {"<|system|>\n", "<|endoftext|>\n"},
     .user = {"<|user|>\n", "<|endoftext|>\n"},
     .answer = {"<|assistant|>\n", "<|endoftext|>\n"},
     .generation = "<|assistant|>\n"},
}};

// A text as a literal of Jinja.
std::string TextLiteral(std::string_view text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\n') {
      literal += "\\n";
      continue;
    }
    if (c == '\'' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + "'";
}

std::string SourceOf(const TurnFormat& format) {
  const auto around = [](const Around& texts, const std::string& content) {
    return TextLiteral(texts.before) + " + " + content + " + " + TextLiteral(texts.after);
  };
  const std::string content = "(message.content or '')";
  const std::string system = around(format.system, content);
  return "{%- set state = namespace(system='', begun=false) %}{{- " + TextLiteral(format.begin) +
         " }}{%- if not messages or messages[0].role != 'system' %}{{- " +
         TextLiteral(format.no_system) +
         " }}{%- endif %}{%- for message in messages %}{%- if message.role == 'system' %}" +
         (format.system_in_user ? "{%- set state.system = state.system + " + system + " %}"
                                : "{{- " + system + " }}{%- set state.begun = true %}") +
         "{%- elif message.role == 'assistant' %}{{- " + around(format.answer, content) +
         " }}{%- set state.begun = true %}{%- else %}{{- (" + TextLiteral(format.between) +
         " if state.begun else '') + " + around(format.user, "state.system + " + content) +
         " }}{%- set state.system = '' %}{%- set state.begun = true %}{%- endif %}"
         "{%- endfor %}{%- if add_generation_prompt %}{{- " +
         TextLiteral(format.generation) + " }}{%- endif %}";
}

}  // namespace

const std::map<std::string, std::string, std::less<>>& PlainTemplates() {
  static const auto templates = [] {
    std::map<std::string, std::string, std::less<>> made;
    for (const TurnFormat& format : kFormats) made.emplace(format.name, SourceOf(format));
    return made;
  }();
  return templates;
}

}  // namespace cairn
