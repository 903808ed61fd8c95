// Templates in the form of those of well-known models, written for the tests, and helpers to make
// conversations.

#ifndef CAIRN_TESTING_CHAT_TEST_TEMPLATES_H_
#define CAIRN_TESTING_CHAT_TEST_TEMPLATES_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "chat/template/builtin_templates.h"
#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn::test {

// As Qwen3.5: <think> is opened by the generation prompt, answers after the last query that is not
// a wrapped tool response keep theirs, and call arguments must be objects.
inline constexpr char kOpenThink[] = R"jinja(
{%- set ns = namespace(last=messages|length - 1, found=false) %}
{%- for message in messages[::-1] %}
  {%- if not ns.found and message.role == "user"
      and not (message.content.startswith('<tool_response>')
               and message.content.endswith('</tool_response>')) %}
    {%- set ns.found = true %}
    {%- set ns.last = messages|length - 1 - loop.index0 %}
  {%- endif %}
{%- endfor %}
{%- for message in messages %}
  {%- set content = message.content | trim %}
  {%- if message.role == 'assistant' %}
    {{- '<|im_start|>assistant\n' }}
    {%- if loop.index0 > ns.last %}
      {{- '<think>\n' + ((message.reasoning_content or '') | trim) + '\n</think>\n\n' }}
    {%- endif %}
    {{- content }}
    {%- for call in message.tool_calls or [] %}
      {{- '<tool_call><function=' + call.function.name + '>' }}
      {%- for key, value in call.function.arguments | items %}
        {{- '<parameter=' + key + '>' }}
        {{- (value if value is string else (value | tojson)) + '</parameter>' }}
      {%- endfor %}
      {{- '</function></tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\n' }}
  {%- elif message.role == 'tool' %}
    {{- '<|im_start|>user\n<tool_response>\n' + content + '\n</tool_response><|im_end|>\n' }}
  {%- else %}
    {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n<think>\n' }}{%- endif %}
)jinja";

// As Mistral: no system role, strict turns, and the tools before the last user message.
inline constexpr char kToolsLast[] = R"jinja(
{{- bos_token }}
{%- for message in messages %}
  {%- if message.role == 'user' %}
    {%- if loop.last and tools %}
      {{- '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}
    {%- endif %}
    {{- '[INST] ' + message.content + '[/INST]' }}
  {%- elif message.role == 'assistant' %}
    {{- ' ' + message.content + eos_token }}
  {%- elif message.role != 'system' %}
    {{- raise_exception('Only user and assistant roles are supported!') }}
  {%- endif %}
{%- endfor %}
)jinja";

// As older DeepSeek templates: a call is recognized by its null content.
inline constexpr char kNullContent[] = R"jinja(
{%- for message in messages %}
  {%- if message.role == 'assistant' and message.content is none %}
    {%- for call in message.tool_calls %}
      {{- '<call>' + call.function.name + call.function.arguments }}
    {%- endfor %}
  {%- else %}
    {{- '<' + message.role + '>' + message.content }}
  {%- endif %}
{%- endfor %}
)jinja";

inline std::unique_ptr<ChatTemplate> Parsed(std::string source) {
  auto parsed = ChatTemplate::Parse(std::move(source), "<s>", "</s>");
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
  return parsed ? *std::move(parsed) : nullptr;
}

inline std::unique_ptr<ChatTemplate> Builtin(std::string_view name) {
  return Parsed(std::string(BuiltinTemplate(name).value_or("")));
}

inline std::string Render(const ChatTemplate& chat_template, const Conversation& conversation,
                          bool add_generation_prompt = true) {
  const auto text = chat_template.Render(conversation, add_generation_prompt);
  return text ? *text : "error: " + text.error().message;
}

inline Message System(std::string text) {
  return {.role = Role::kSystem, .content = std::move(text)};
}
inline Message Developer(std::string text) {
  return {.role = Role::kDeveloper, .content = std::move(text)};
}
inline Message User(std::string text) {
  return {.role = Role::kUser, .content = std::move(text)};
}
inline Message Assistant(std::string text, std::string reasoning = "") {
  return {.role = Role::kAssistant, .content = std::move(text), .reasoning = std::move(reasoning)};
}
inline Message Call(std::string name, std::string arguments, std::string reasoning = "") {
  return {.role = Role::kAssistant,
          .reasoning = std::move(reasoning),
          .tool_calls = {{"call00001", std::move(name), std::move(arguments)}}};
}
inline Message ToolAnswer(std::string text) {
  return {.role = Role::kTool, .content = std::move(text), .tool_call_id = "call00001"};
}

inline constexpr char kWeatherTool[] =
    R"([{"type":"function","function":{"name":"weather","description":"Tells the weather.",)"
    R"("parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}])";

}  // namespace cairn::test

#endif  // CAIRN_TESTING_CHAT_TEST_TEMPLATES_H_
