#include "chat/template/builtin_templates.h"

#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kChatml = R"jinja(
{%- macro tool_list() %}
    {{- 'These tools can be called:\n<tools>' }}
    {%- for tool in tools %}
        {{- '\n' + (tool | tojson) }}
    {%- endfor %}
    {{- '\n</tools>\nTo call one, write ' }}
    {{- '<tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.' }}
{%- endmacro %}
{%- for message in messages %}
    {%- if loop.first and tools %}
        {{- '<|im_start|>system\n' }}
        {%- if message.role == 'system' %}
            {{- message.content + '\n\n' }}
        {%- endif %}
        {{- tool_list() + '<|im_end|>\n' }}
    {%- endif %}
    {%- if not (loop.first and tools and message.role == 'system') %}
        {{- '<|im_start|>' + message.role + '\n' + message.content }}
        {%- for call in message.tool_calls or [] %}
            {%- if not loop.first or message.content %}{{- '\n' }}{%- endif %}
            {{- '<tool_call>{"name": ' + (call.function.name | tojson) + ', "arguments": ' }}
            {%- set arguments = call.function.arguments %}
            {{- arguments if arguments is string else (arguments | tojson) }}
            {{- '}</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
)jinja";

constexpr std::string_view kQwen = R"jinja(
{%- set state = namespace(last_query=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set state.last_query = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\n\n' }}
    {%- endif %}
    {{- '# Tools\n\nThese functions can be called:\n<tools>' }}
    {%- for tool in tools %}
        {{- '\n' + (tool | tojson) }}
    {%- endfor %}
    {{- '\n</tools>\n\nTo call one, write\n<tool_call>\n' }}
    {{- '{"name": NAME, "arguments": OBJECT}\n</tool_call><|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set content = message.content or '' %}
        {%- set reasoning = message.reasoning_content or '' %}
        {%- if not reasoning and '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].split('<think>')[-1] %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\n' }}
        {%- if loop.index0 > state.last_query and (reasoning or loop.last) %}
            {{- '<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' }}
        {%- endif %}
        {{- content }}
        {%- for call in message.tool_calls or [] %}
            {%- if not loop.first or content %}{{- '\n' }}{%- endif %}
            {{- '<tool_call>\n{"name": ' + (call.function.name | tojson) + ', "arguments": ' }}
            {%- set arguments = call.function.arguments %}
            {{- arguments if arguments is string else (arguments | tojson) }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
)jinja";

constexpr std::string_view kGemma = R"jinja(
{{- bos_token }}
{%- set first = 0 %}
{%- set preface = '' %}
{%- if messages and messages[0].role == 'system' %}
    {%- set first = 1 %}
    {%- set preface = (messages[0].content | trim) + '\n\n' %}
{%- endif %}
{%- for message in messages[first:] %}
    {%- set expected = 'user' if loop.index0 % 2 == 0 else 'assistant' %}
    {%- if message.role != expected %}
        {{- raise_exception('the messages must alternate between user and assistant, '
            + 'after at most one system message') }}
    {%- endif %}
    {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}
    {%- if loop.first %}{{- preface }}{%- endif %}
    {{- message.content | trim }}
    {{- '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<start_of_turn>model\n' }}
{%- endif %}
)jinja";

constexpr std::string_view kLlama3 = R"jinja(
{{- bos_token }}
{%- for message in messages %}
    {%- if loop.first and tools %}
        {{- '<|start_header_id|>system<|end_header_id|>\n\n' }}
        {%- if message.role == 'system' %}
            {{- (message.content | trim) + '\n\n' }}
        {%- endif %}
        {{- 'To call a function, answer only with {"name": NAME, "parameters": OBJECT}. ' }}
        {{- 'The functions are:\n' }}
        {%- for tool in tools %}
            {{- '\n' + (tool | tojson) }}
        {%- endfor %}
        {{- '<|eot_id|>' }}
    {%- endif %}
    {%- if message.tool_calls %}
        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
        {{- message.content | trim }}
        {%- for call in message.tool_calls %}
            {{- '{"name": ' + (call.function.name | tojson) + ', "parameters": ' }}
            {%- set arguments = call.function.arguments %}
            {{- arguments if arguments is string else (arguments | tojson) }}
            {{- '}' }}
        {%- endfor %}
        {{- '<|eot_id|>' }}
    {%- elif not (loop.first and tools and message.role == 'system') %}
        {%- set speaker = 'ipython' if message.role == 'tool' else message.role %}
        {{- '<|start_header_id|>' + speaker + '<|end_header_id|>\n\n' }}
        {{- message.content | trim }}
        {{- '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)jinja";

struct Named {
  std::string_view name;
  std::string_view source;
};

constexpr Named kTemplates[] = {
    {"chatml", kChatml},
    {"gemma", kGemma},
    {"llama3", kLlama3},
    {"qwen", kQwen},
};

}  // namespace

std::vector<std::string> BuiltinTemplateNames() {
  std::vector<std::string> names;
  for (const Named& named : kTemplates) names.emplace_back(named.name);
  return names;
}

Result<std::string_view> BuiltinTemplate(std::string_view name) {
  for (const Named& named : kTemplates) {
    if (named.name == name) return named.source;
  }
  const auto plain = PlainTemplates().find(name);
  if (plain != PlainTemplates().end()) return plain->second;
  std::vector<std::string> names;
  for (const auto& [plain_name, source] : PlainTemplates()) names.push_back(plain_name);
  return Fail(ErrorCode::kNotFound, "there is no chat template called \"" + std::string(name) +
                                        "\"; the names are " + JoinNames(BuiltinTemplateNames()) +
                                        " and, without tools, " + JoinNames(names) + ".");
}

}  // namespace cairn
