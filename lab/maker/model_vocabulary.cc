#include "lab/maker/model_vocabulary.h"

namespace cairn {
namespace {

// The token types by GGUF's numbers.
constexpr int32_t kTypeNormal = 1;
constexpr int32_t kTypeUnknown = 2;
constexpr int32_t kTypeControl = 3;
constexpr int32_t kTypeUserDefined = 4;

// Returns a code point below U+0800 in UTF-8.
std::string Utf8(uint32_t code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | (code_point >> 6)),
          static_cast<char>(0x80 | (code_point & 0x3F))};
}

// GPT-2 vocabularies write a byte as one visible character: itself if it is visible in Latin-1,
// else the next unused character from U+0100 on.
bool IsVisibleLatin1(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::string_view kTemplate = R"({#- ChatML with tools and with old reasoning stripped. -#}
{%- macro text_of(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content -%}
    {%- for part in content -%}
      {%- if part is string -%}{{- part -}}{%- elif part.text -%}{{- part.text -}}{%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(last_query=-1, header='') -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}{%- set ns.last_query = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- set first_is_system = messages and messages[0].role in ['system', 'developer'] -%}
{%- if first_is_system -%}{%- set ns.header = text_of(messages[0].content) -%}{%- endif -%}
{%- if tools -%}
  {{- '<|im_start|>system\n' -}}
  {%- if ns.header -%}{{- ns.header + '\n\n' -}}{%- endif -%}
  {{- '# Tools\n\nThese functions may be called:\n<tools>' -}}
  {%- for tool in tools -%}{{- '\n' + (tool | tojson) -}}{%- endfor -%}
  {{- '\n</tools>\n\nA call is one JSON object between marks:\n<tool_call>\n' -}}
  {{- '{"name": <name>, "arguments": <arguments>}\n</tool_call><|im_end|>\n' -}}
{%- elif first_is_system -%}
  {{- '<|im_start|>system\n' + ns.header + '<|im_end|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- set content = text_of(message.content) -%}
  {%- if loop.first and first_is_system -%}
  {%- elif message.role == 'assistant' -%}
    {%- set reasoning = '' -%}
    {%- if message.reasoning_content is string -%}
      {%- set reasoning = message.reasoning_content -%}
    {%- elif '</think>' in content -%}
      {%- set reasoning = content.split('</think>')[0].split('<think>')[-1] -%}
      {%- set content = content.split('</think>')[-1].lstrip('\n') -%}
    {%- endif -%}
    {{- '<|im_start|>assistant\n' -}}
    {%- if reasoning and loop.index0 > ns.last_query -%}
      {{- '<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' -}}
    {%- endif -%}
    {{- content -}}
    {%- if message.tool_calls -%}
      {%- for call in message.tool_calls -%}
        {%- set function = call.function if call.function else call -%}
        {%- if content or not loop.first -%}{{- '\n' -}}{%- endif -%}
        {{- '<tool_call>\n{"name": ' + (function.name | tojson) + ', "arguments": ' -}}
        {%- if function.arguments is string -%}
          {{- function.arguments -}}
        {%- else -%}
          {{- function.arguments | tojson -}}
        {%- endif -%}
        {{- '}\n</tool_call>' -}}
      {%- endfor -%}
    {%- endif -%}
    {{- '<|im_end|>\n' -}}
  {%- elif message.role == 'tool' -%}
    {%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}
      {{- '<|im_start|>user' -}}
    {%- endif -%}
    {{- '\n<tool_response>\n' + content + '\n</tool_response>' -}}
    {%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}
      {{- '<|im_end|>\n' -}}
    {%- endif -%}
  {%- else -%}
    {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' -}}
  {%- if enable_thinking is defined and enable_thinking is false -%}
    {{- '<think>\n\n</think>\n\n' -}}
  {%- endif -%}
{%- endif -%}
)";

}  // namespace

std::string_view SyntheticChatTemplate() {
  return kTemplate;
}

std::string_view SyntheticRerankTemplate() {
  return "<|im_start|>user\nQuery: {query}\nDocument: {document}<|im_end|>\n"
         "<|im_start|>assistant\n";
}

Metadata EncoderVocabularyMetadata() {
  // libllama's mark of a word's beginning; what has none continues a word.
  const std::string begins = "\u2581";
  std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  std::vector<int32_t> types(tokens.size(), kTypeControl);
  for (const char* word : {"the", "of", "and", "to", "in", "is", "this", "that", "with", "for"}) {
    tokens.push_back(begins + word);
  }
  for (char c = '!'; c <= '~'; ++c) {
    if (c >= 'A' && c <= 'Z') continue;  // the tokenizer makes letters small
    tokens.push_back(begins + std::string(1, c));
    const bool continues = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (continues) tokens.emplace_back(1, c);
  }
  for (const char* end : {"ing", "ed", "er", "ly", "ion"}) tokens.emplace_back(end);
  types.resize(tokens.size(), kTypeNormal);
  return {
      {"tokenizer.ggml.model", std::string("bert")},
      {"tokenizer.ggml.tokens", std::move(tokens)},
      {"tokenizer.ggml.token_type", std::move(types)},
      {"tokenizer.ggml.token_type_count", uint32_t{2}},
      {"tokenizer.ggml.padding_token_id", uint32_t{0}},
      {"tokenizer.ggml.unknown_token_id", uint32_t{1}},
      {"tokenizer.ggml.bos_token_id", uint32_t{2}},
      {"tokenizer.ggml.eos_token_id", uint32_t{3}},
      {"tokenizer.ggml.seperator_token_id", uint32_t{3}},  // GGUF spells it so
      {"tokenizer.ggml.mask_token_id", uint32_t{4}},
      {"tokenizer.ggml.add_bos_token", true},
      {"tokenizer.ggml.add_eos_token", true},
  };
}

Metadata UnigramVocabularyMetadata() {
  const std::string begins = "\u2581";
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
  std::vector<int32_t> types(tokens.size(), kTypeControl);
  types[3] = kTypeUnknown;
  std::vector<float> scores(tokens.size(), 0.0F);
  const auto add = [&](const std::string& text, float score) {
    tokens.push_back(text);
    types.push_back(kTypeNormal);
    scores.push_back(score);
  };
  add(begins, -3);
  for (const char* word : {"the", "of", "and", "to", "in", "is", "this", "that", "with", "for"}) {
    add(begins + word, -4);
  }
  for (const char* end : {"ing", "ed", "er", "ly", "ion"}) add(end, -5);
  for (char c = '!'; c <= '~'; ++c) add(std::string(1, c), -6);
  return {
      {"tokenizer.ggml.model", std::string("t5")},
      {"tokenizer.ggml.pre", std::string("default")},
      {"tokenizer.ggml.tokens", std::move(tokens)},
      {"tokenizer.ggml.scores", std::move(scores)},
      {"tokenizer.ggml.token_type", std::move(types)},
      {"tokenizer.ggml.token_type_count", uint32_t{1}},
      {"tokenizer.ggml.bos_token_id", uint32_t{0}},
      {"tokenizer.ggml.padding_token_id", uint32_t{1}},
      {"tokenizer.ggml.eos_token_id", uint32_t{2}},
      {"tokenizer.ggml.seperator_token_id", uint32_t{2}},  // GGUF spells it so
      {"tokenizer.ggml.unknown_token_id", uint32_t{3}},
      {"tokenizer.ggml.mask_token_id", uint32_t{4}},
      {"tokenizer.ggml.add_space_prefix", true},
      {"tokenizer.ggml.remove_extra_whitespaces", true},
      {"tokenizer.ggml.add_bos_token", true},
      {"tokenizer.ggml.add_eos_token", true},
  };
}

Metadata VocabularyMetadata(bool infill) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types(kByteTokens, kTypeNormal);
  uint32_t next_spare = 0x100;
  for (uint32_t byte = 0; byte < kByteTokens; ++byte) {
    tokens.push_back(Utf8(IsVisibleLatin1(byte) ? byte : next_spare++));
  }
  const auto add = [&](const char* text, int32_t type) {
    tokens.emplace_back(text);
    types.push_back(type);
  };
  add("<|endoftext|>", kTypeControl);
  add("<|im_start|>", kTypeControl);
  add("<|im_end|>", kTypeControl);
  add("<think>", kTypeUserDefined);
  add("</think>", kTypeUserDefined);
  if (infill) {
    for (const char* text : {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
                             "<|repo_name|>", "<|file_sep|>"}) {
      add(text, kTypeControl);
    }
  }
  return {
      {"tokenizer.ggml.model", std::string("gpt2")},
      {"tokenizer.ggml.pre", std::string("qwen2")},
      {"tokenizer.ggml.tokens", std::move(tokens)},
      {"tokenizer.ggml.token_type", std::move(types)},
      // A BPE vocabulary must have merges. This one never applies: it merges two pairs, and no
      // merge makes a pair.
      {"tokenizer.ggml.merges", std::vector<std::string>{"!! !!"}},
      {"tokenizer.ggml.bos_token_id", static_cast<uint32_t>(kEndOfTextToken)},
      {"tokenizer.ggml.eos_token_id", static_cast<uint32_t>(kTurnEndToken)},
      {"tokenizer.ggml.padding_token_id", static_cast<uint32_t>(kEndOfTextToken)},
      {"tokenizer.ggml.add_bos_token", false},
      {"tokenizer.ggml.add_eos_token", false},
      {"tokenizer.chat_template", std::string(kTemplate)},
  };
}

}  // namespace cairn
