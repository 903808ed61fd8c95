#include "api/request/chat_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "api/media/media_parts.h"
#include "api/request/answer_format.h"
#include "api/request/prefill.h"
#include "api/request/reasoning_request.h"
#include "api/request/reference_fields.h"
#include "api/request/stop_limits.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

std::string Quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// Appends a part of the type "thinking", whose text is a string or, as Mistral writes it, a list of
// texts. What else is in the list, such as references to sources, is left out.
void ReadThinkingPart(const Json& part, const std::string& field, FieldReader* fields,
                      Message* message, std::vector<std::string>* left_out) {
  const auto thinking = part.find("thinking");
  const bool listed = thinking != part.end() && thinking->is_array();
  if (thinking == part.end() || (!listed && !thinking->is_string())) {
    return fields->Fail(field + ".thinking", "a string or a list of texts");
  }
  if (!listed) return AppendReasoningPart(thinking->text(), message);
  for (const Json& item : *thinking) {
    const auto string_of = [&](const char* name) -> const std::string* {
      if (!item.is_object()) return nullptr;
      const auto found = item.find(name);
      return found != item.end() && found->is_string() ? &found->text() : nullptr;
    };
    const std::string* const type = string_of("type");
    if (const std::string* const text = string_of("text")) {
      AppendReasoningPart(*text, message);
    } else if (type != nullptr && *type != "text") {
      NoteLeftOut(*type, left_out);
    } else {
      return fields->Fail(field + ".thinking", "a string or a list of texts");
    }
  }
}

// Appends a part of `content` at `place`, which is `field` of the message. An answer may come from
// another service: what it has beside texts and reasoning is left out.
void ReadPart(const Json& part, const std::string& field, const std::string& place,
              FieldReader* fields, MediaReader* media, Message* message,
              std::vector<std::string>* left_out) {
  if (!part.is_object() || !part.contains("type") || !part["type"].is_string()) {
    return fields->Fail(field, "an object with a string 'type'");
  }
  const std::string type = part["type"].get<std::string>();
  const bool answer = message->role == Role::kAssistant;
  if (IsMediaPart(type) && !answer) {
    auto medium = ReadMediaPart(part, type, place, media);
    if (!medium) return fields->Fail(std::move(medium.error()));
    AppendMarker(*std::move(medium), &message->content, &message->media);
    return;
  }
  if (answer && type == "thinking") {
    return ReadThinkingPart(part, field, fields, message, left_out);
  }
  // Responses' names of a text are common in histories.
  const bool text = type == "text" || type == "output_text" || type == "input_text";
  const bool refusal = answer && type == "refusal";
  if (!text && !refusal) {
    if (answer && !IsMediaPart(type)) return NoteLeftOut(type, left_out);
    return fields->Fail(field + ".type",
                        answer ? "'text' in a message of the assistant, not " + Quoted(type)
                               : "'text', 'image_url' or 'input_audio', not " + Quoted(type));
  }
  const char* const name = refusal ? "refusal" : "text";
  if (!part.contains(name) || !part[name].is_string()) {
    return fields->Fail(field + "." + name, "a string");
  }
  AppendTextPart(part[name].text(), message);
}

// `content` is a string, or a list of parts: texts, images and recordings.
void ReadContent(FieldReader* fields, const std::string& place, MediaReader* media,
                 Message* message, std::vector<std::string>* left_out) {
  const std::string name = "content";
  const Json* value = fields->Find(name);
  if (value == nullptr) return;
  if (value->is_string()) {
    message->content = value->get<std::string>();
    return;
  }
  if (!value->is_array()) return fields->Fail(name, "a string or a list of parts");
  for (size_t i = 0; i < value->size() && !fields->error(); ++i) {
    const std::string field = name + "[" + std::to_string(i) + "]";
    ReadPart((*value)[i], field, place + "." + field, fields, media, message, left_out);
    if (fields->error()) return;
    const bool last = i + 1 == value->size();
    auto marked = AddBreakpoint((*value)[i], place + "." + field, last, &message->marks);
    if (!marked) return fields->Fail(std::move(marked.error()));
  }
}

// `reasoning` and `thinking` are other servers' names for `reasoning_content`, and a client may
// have sent it as a part of the content.
void ReadReasoning(FieldReader* fields, Message* message) {
  std::string text;
  fields->String("reasoning_content", &text);
  for (const char* name : {"reasoning", "thinking"}) {
    const Json* const other = fields->Find(name);
    if (text.empty() && other != nullptr && other->is_string()) text = other->text();
  }
  if (message->reasoning.empty()) message->reasoning = std::move(text);
}

// Reads the name and the arguments of a function that was called.
void ReadFunction(const Json& json, const std::string& place, FieldReader* fields, ToolCall* call) {
  FieldReader function(json, "");
  function.String("name", &call->name);
  const Json* arguments = function.Find("arguments");
  // Ollama's clients send the object itself.
  if (arguments != nullptr && arguments->is_object()) call->arguments = ToText(*arguments);
  if (arguments != nullptr && !arguments->is_object()) {
    function.String("arguments", &call->arguments);
  }
  if (function.error()) fields->Fail(place + "." + function.error()->field, "a string");
}

void ReadToolCalls(FieldReader* fields, std::vector<ToolCall>* calls) {
  const Json* list = fields->Find("tool_calls");
  if (list == nullptr) return;
  if (!list->is_array()) return fields->Fail("tool_calls", "a list");
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string place = "tool_calls[" + std::to_string(i) + "]";
    const Json& entry = (*list)[i];
    if (!entry.is_object() || !entry.contains("function") || !entry["function"].is_object()) {
      return fields->Fail(place + ".function", "an object with 'name' and 'arguments'");
    }
    ToolCall call;
    FieldReader outer(entry, "");
    outer.String("id", &call.id);
    ReadFunction(entry["function"], place + ".function", fields, &call);
    if (outer.error()) return fields->Fail(place + ".id", "a string");
    if (fields->error()) return;
    calls->push_back(std::move(call));
  }
}

// Reads OpenAI's older form of a call, which has no id: one of its own is made, the same at every
// turn.
void ReadFunctionCall(FieldReader* fields, size_t index, std::vector<ToolCall>* calls) {
  const Json* function = fields->Find("function_call");
  if (function == nullptr || !calls->empty()) return;
  if (!function->is_object()) {
    return fields->Fail("function_call", "an object with 'name' and 'arguments'");
  }
  ToolCall call{.id = "function_call_" + std::to_string(index)};
  ReadFunction(*function, "function_call", fields, &call);
  calls->push_back(std::move(call));
}

// Reads `refusal` of an answer: what the model said instead.
void ReadRefusal(FieldReader* fields, Message* message) {
  if (message->role != Role::kAssistant) return;
  std::string refusal;
  fields->String("refusal", &refusal);
  if (refusal.empty()) return;
  message->content += (message->content.empty() ? "" : "\n") + refusal;
}

ApiResult<Message> ParseMessage(const Json& json, size_t index, MediaReader* media,
                                std::vector<std::string>* left_out) {
  const std::string place = "messages[" + std::to_string(index) + "]";
  if (!json.is_object()) return tl::unexpected(FieldError(place, "an object"));
  FieldReader fields(json, place + ".");
  Message message;
  std::string role;
  fields.String("role", &role);
  // A result in OpenAI's older form. LinkFunctionResults finds its call.
  const std::optional<Role> known = role == "function" ? Role::kTool : RoleFromName(role);
  if (!known) {
    fields.Fail("role", "'system', 'developer', 'user', 'assistant' or 'tool'" +
                            (role.empty() ? std::string() : ", not " + Quoted(role)));
  }
  message.role = known.value_or(Role::kUser);
  if (!fields.error()) ReadContent(&fields, place, media, &message, left_out);
  ReadRefusal(&fields, &message);
  ReadReasoning(&fields, &message);
  fields.String("tool_call_id", &message.tool_call_id);
  fields.String("name", &message.name);
  ReadToolCalls(&fields, &message.tool_calls);
  ReadFunctionCall(&fields, index, &message.tool_calls);
  if (message.role == Role::kAssistant && fields.Find("audio") != nullptr) {
    NoteLeftOut("audio", left_out);
  }
  const bool may_be_empty = message.role == Role::kAssistant || message.role == Role::kTool;
  if (fields.Find("content") == nullptr && !may_be_empty) {
    fields.Fail("content", "a string or a list of parts");
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return message;
}

// Results in OpenAI's older form have the name of their function in place of the call's id.
void LinkFunctionResults(std::vector<Message>* messages) {
  const ToolCall* last = nullptr;
  for (Message& message : *messages) {
    if (message.role == Role::kAssistant) {
      last = message.tool_calls.size() == 1 ? message.tool_calls.data() : nullptr;
    } else if (message.role == Role::kTool && message.tool_call_id.empty() && last != nullptr &&
               last->name == message.name) {
      message.tool_call_id = last->id;
    }
  }
}

void ReadStop(FieldReader* fields, std::vector<std::string>* stop_texts) {
  const Json* stop = fields->Find("stop");
  if (stop == nullptr) return;
  stop_texts->clear();
  if (stop->is_string()) {
    stop_texts->push_back(stop->get<std::string>());
    return;
  }
  if (!stop->is_array()) return fields->Fail("stop", "a string or a list of strings");
  for (const Json& text : *stop) {
    if (!text.is_string()) return fields->Fail("stop", "a string or a list of strings");
    stop_texts->push_back(text.get<std::string>());
  }
}

constexpr size_t kBiasesMax = 10'000;
constexpr size_t kBiasTextBytesMax = 65'536;

// -100 is OpenAI's "never"; llama-server uses false. A text biases each of its tokens, which
// ChatService finds.
void AddBias(const std::string& expected, const Json& token, const Json& value, FieldReader* fields,
             GenerationParams* params) {
  const bool known = token.is_number_integer() && token.get<int64_t>() >= 0 &&
                     token.get<int64_t>() <= std::numeric_limits<Token>::max();
  const bool banned = value == Json(false);
  if ((!known && !token.is_string()) || (!value.is_number() && !banned)) {
    return fields->Fail("logit_bias", expected);
  }
  const float bias = banned ? -std::numeric_limits<float>::infinity() : value.get<float>();
  if (!banned && !std::isfinite(bias)) return fields->Fail("logit_bias", expected);
  if (known) {
    params->sampling.logit_bias.emplace_back(token.get<Token>(), bias);
  } else {
    params->text_biases.emplace_back(token.text(), bias);
  }
}

void CheckBiasTexts(FieldReader* fields, const GenerationParams& params) {
  size_t bytes = 0;
  for (const auto& [text, bias] : params.text_biases) bytes += text.size();
  if (bytes <= kBiasTextBytesMax) return;
  fields->Fail("logit_bias",
               "texts of at most " + std::to_string(kBiasTextBytesMax) + " bytes together");
}

// OpenAI's form: {"50256": -100}. llama-server's: [[50256, -100], [7, false], [" the", -1]], and an
// object from texts.
void ReadLogitBias(FieldReader* fields, GenerationParams* params) {
  const Json* bias = fields->Find("logit_bias");
  if (bias == nullptr) return;
  const std::string expected =
      "an object from token ids or texts to numbers, or a list of [token id or text, number or "
      "false]";
  if (!bias->is_object() && !bias->is_array()) return fields->Fail("logit_bias", expected);
  if (bias->size() > kBiasesMax) {
    return fields->Fail("logit_bias", "at most " + std::to_string(kBiasesMax) + " tokens");
  }
  if (bias->is_array()) {
    for (const Json& pair : *bias) {
      if (!pair.is_array() || pair.size() != 2) return fields->Fail("logit_bias", expected);
      AddBias(expected, pair[0], pair[1], fields, params);
    }
    return;
  }
  for (const auto& [name, value] : bias->items()) {
    const bool digits = !name.empty() && name.size() < 10 &&
                        name.find_first_not_of("0123456789") == std::string::npos;
    AddBias(expected, digits ? Json(std::stol(name)) : Json(name), value, fields, params);
  }
}

void ReadInt32(FieldReader* fields, std::string_view name, int32_t min, int32_t max,
               int32_t* target) {
  int64_t value = *target;
  fields->Integer(name, min, max, &value);
  *target = static_cast<int32_t>(value);
}

// A list of strings, or, as SillyTavern sends it, the text of such a list.
void ReadStrings(FieldReader* fields, std::string_view name, std::vector<std::string>* target) {
  // libllama searches the whole vocabulary for each of them and each of their bytes.
  constexpr size_t kStringsMax = 64;
  constexpr size_t kBytesMax = 1024;
  const Json* list = fields->Find(name);
  if (list == nullptr) return;
  Json parsed;
  if (list->is_string()) {
    // Limited: a text may be nested deeper than the request around it.
    if (auto read = ParseLimitedJson(list->text(), name)) parsed = *std::move(read);
    list = &parsed;
  }
  const std::string expected = "a list of at most " + std::to_string(kStringsMax) +
                               " strings of at most " + std::to_string(kBytesMax) +
                               " bytes together";
  if (!list->is_array() || list->size() > kStringsMax) return fields->Fail(name, expected);
  target->clear();
  size_t bytes = 0;
  for (const Json& text : *list) {
    if (text.is_string()) bytes += text.text().size();
    if (!text.is_string() || bytes > kBytesMax) return fields->Fail(name, expected);
    target->push_back(text.get<std::string>());
  }
}

constexpr size_t kSamplersMax = 100;

// Unknown steps are left out, as in llama-server: programs send one list to servers of all kinds
// and versions. So are steps that were named before.
void ReadOrder(FieldReader* fields, std::vector<SamplingStep>* order) {
  const Json* list = fields->Find("samplers");
  if (list == nullptr) return;
  const auto is_long = [](const Json& value) {
    return value.is_string() ? value.text().size() > kSamplersMax : value.size() > kSamplersMax;
  };
  if (is_long(*list) || (list->is_array() && std::any_of(list->begin(), list->end(), is_long))) {
    return fields->Fail("samplers",
                        "at most " + std::to_string(kSamplersMax) + " names of as many letters");
  }
  std::vector<std::optional<SamplingStep>> steps;
  if (list->is_string()) {
    for (const char letter : list->text()) steps.push_back(SamplingStepOfLetter(letter));
  } else if (list->is_array() && std::all_of(list->begin(), list->end(),
                                             [](const Json& name) { return name.is_string(); })) {
    for (const Json& name : *list) steps.push_back(FindSamplingStep(name.text()));
  } else {
    return fields->Fail("samplers",
                        "a list of names such as 'top_k', or a string of a letter for each");
  }
  order->clear();
  for (const std::optional<SamplingStep>& step : steps) {
    if (!step || std::find(order->begin(), order->end(), *step) != order->end()) continue;
    order->push_back(*step);
  }
}

void ReadDry(FieldReader* fields, DryParams* dry) {
  fields->Number("dry_multiplier", 0, kNumberMax, &dry->multiplier);
  fields->Number("dry_base", 1, kNumberMax, &dry->base);
  ReadInt32(fields, "dry_allowed_length", 0, std::numeric_limits<int32_t>::max(),
            &dry->allowed_length);
  ReadInt32(fields, "dry_penalty_last_n", -1, std::numeric_limits<int32_t>::max(), &dry->last_n);
  ReadStrings(fields, "dry_sequence_breakers", &dry->breakers);
}

void ReadRarerSampling(FieldReader* fields, SamplingParams* sampling) {
  fields->Number("typical_p", 0, 1, &sampling->typical_p);
  fields->Number("top_n_sigma", -1, kNumberMax, &sampling->top_n_sigma);
  fields->Number("xtc_probability", 0, 1, &sampling->xtc_probability);
  fields->Number("xtc_threshold", 0, 1, &sampling->xtc_threshold);
  fields->Number("dynatemp_range", 0, kNumberMax, &sampling->dynatemp_range);
  fields->Number("dynatemp_exponent", 0, kNumberMax, &sampling->dynatemp_exponent);
  ReadInt32(fields, "mirostat", 0, 2, &sampling->mirostat);
  fields->Number("mirostat_tau", 0, kNumberMax, &sampling->mirostat_tau);
  fields->Number("mirostat_eta", 0, kNumberMax, &sampling->mirostat_eta);
  fields->Number("adaptive_target", -1, 1, &sampling->adaptive_target);
  fields->Number("adaptive_decay", 0, 0.99, &sampling->adaptive_decay);
  ReadInt32(fields, "min_keep", 0, std::numeric_limits<int32_t>::max(), &sampling->min_keep);
  ReadDry(fields, &sampling->dry);
  ReadOrder(fields, &sampling->order);
}

void ReadSeed(FieldReader* fields, uint32_t* seed) {
  const Json* value = fields->Find("seed");
  // Clients send -1 for "any", and wider numbers than libllama's 32 bits.
  if (value != nullptr && value->is_number_unsigned()) {
    *seed = static_cast<uint32_t>(value->get<uint64_t>());
    return;
  }
  int64_t number = *seed;
  fields->Integer("seed", std::numeric_limits<int64_t>::min(), int64_t{1} << 53, &number);
  *seed = static_cast<uint32_t>(number);
}

void ReadSampling(FieldReader* fields, GenerationParams* params) {
  SamplingParams* const sampling = &params->sampling;
  fields->Number("temperature", 0, kNumberMax, &sampling->temperature);
  fields->Number("top_p", 0, 1, &sampling->top_p);
  fields->Number("min_p", 0, 1, &sampling->min_p);
  fields->Number("repeat_penalty", 1e-3, kNumberMax, &sampling->repeat_penalty);
  fields->Number("presence_penalty", -kNumberMax, kNumberMax, &sampling->presence_penalty);
  fields->Number("frequency_penalty", -kNumberMax, kNumberMax, &sampling->frequency_penalty);
  ReadInt32(fields, "top_k", -1, std::numeric_limits<int32_t>::max(), &sampling->top_k);
  ReadInt32(fields, "repeat_last_n", -1, std::numeric_limits<int32_t>::max(),
            &sampling->repeat_last_n);
  ReadSeed(fields, &sampling->seed);
  ReadLogitBias(fields, params);
  CheckBiasTexts(fields, *params);
  ReadRarerSampling(fields, sampling);
}

void ReadLimits(FieldReader* fields, GenerationParams* params) {
  int64_t tokens_max = -1;
  for (const std::string_view name : {"n_predict", "max_tokens", "max_completion_tokens"}) {
    // -2 is llama-server's "until the context is full", as far as an answer goes here without it.
    fields->Integer(name, -2, int64_t{1} << 40, &tokens_max);
  }
  if (tokens_max >= 0) params->tokens_max = static_cast<size_t>(tokens_max);
  fields->Integer("n_keep", -1, int64_t{1} << 40, &params->keep_tokens);
  fields->Bool("ignore_eos", &params->ignore_end);
  ReadStop(fields, &params->stop_texts);
  CheckStops(fields, "stop", params->stop_texts);
}

// Parses `tools`, or where there are none `functions`, their older form.
ApiResult<Tools> ReadChatTools(FieldReader* fields) {
  const Json* tools = fields->Find("tools");
  const Json* functions = tools == nullptr ? fields->Find("functions") : nullptr;
  const Json* list = tools != nullptr ? tools : functions;
  if (list == nullptr) return Tools();
  if (!list->is_array()) {
    return tl::unexpected(FieldError(tools != nullptr ? "tools" : "functions", "a list"));
  }
  Json wrapped = Json::array();
  for (size_t i = 0; functions != nullptr && i < functions->size(); ++i) {
    const std::string place = ItemPlace("functions", i);
    if (!(*functions)[i].is_object()) return tl::unexpected(FieldError(place, "an object"));
    const auto name = NeededString((*functions)[i], place, "name");
    if (!name) return tl::unexpected(name.error());
    wrapped.push_back({{"type", "function"}, {"function", (*functions)[i]}});
  }
  for (size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    const Json type = (*tools)[i].is_object() ? (*tools)[i].value("type", Json()) : Json();
    if (!type.is_string() || type == "function") continue;
    return tl::unexpected(FieldError(ItemPlace("tools", i) + ".type",
                                     "'function': this server runs no tools of its own, and only "
                                     "/v1/responses has custom ones"));
  }
  if (functions == nullptr) wrapped = *list;
  auto made = Tools::Make(std::move(wrapped));
  if (!made) return tl::unexpected(ToApiError(made.error()));
  return *std::move(made);
}

}  // namespace

ApiResult<Conversation> ParseConversation(const Json& body, const MediaRules& rules) {
  FieldReader fields(body, "");
  const Json* messages = fields.Find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty()) {
    return tl::unexpected(FieldError("messages", "a list of at least one message"));
  }
  Conversation conversation;
  MediaReader media(rules);
  for (size_t i = 0; i < messages->size(); ++i) {
    auto message = ParseMessage((*messages)[i], i, &media, &conversation.left_out);
    if (!message) return tl::unexpected(message.error());
    conversation.messages.push_back(std::move(*message));
  }
  LinkFunctionResults(&conversation.messages);
  auto tools = ReadChatTools(&fields);
  if (!tools) return tl::unexpected(tools.error());
  conversation.tools = *std::move(tools);
  ReadTemplateKwargs(&fields, &conversation);
  ReadReasoningEffort(&fields, &conversation.reasoning);
  if (fields.error()) return tl::unexpected(*fields.error());
  const auto end = ParsePromptEnd(body, conversation.messages);
  if (!end) return tl::unexpected(end.error());
  conversation.end = *end;
  return conversation;
}

ApiResult<ChatRequest> ParseChatRequest(const Json& body, const GenerationParams& defaults,
                                        const MediaRules& rules, GrammarCache* cache) {
  auto conversation = ParseConversation(body, rules);
  if (!conversation) return tl::unexpected(conversation.error());
  if (const auto fits = RefuseUnsupported(body, Reference::kChat); !fits) {
    return tl::unexpected(fits.error());
  }
  ChatRequest request;
  request.reuse = defaults.reuse;
  request.conversation = std::move(*conversation);
  FieldReader fields(body, "");
  std::string model;
  fields.String("model", &model);
  fields.Bool("stream", &request.stream);
  fields.Bool("eager_input_streaming", &request.eager_calls);
  fields.Bool("cache_prompt", &request.reuse);
  if (fields.error()) return tl::unexpected(*fields.error());
  auto options = ParseAnswerOptions(body, LogprobsField::kChat);
  if (!options) return tl::unexpected(options.error());
  request.options = *options;
  auto params = ParseGenerationParams(body, defaults);
  if (!params) return tl::unexpected(params.error());
  request.params = std::move(*params);
  ReadThinkingBudget(&fields, &request.params.reasoning);
  if (fields.error()) return tl::unexpected(*fields.error());
  auto grammar = ParseAnswerGrammar(body, &request.loosened, cache);
  if (!grammar) return tl::unexpected(grammar.error());
  request.grammar = std::move(*grammar);
  const Json* own = fields.Find("grammar");
  request.grammar_is_format = own == nullptr || *own == Json("");
  auto choice = ParseToolChoice(body);
  if (!choice) return tl::unexpected(choice.error());
  request.tool_choice = std::move(*choice);
  request.options.legacy_calls =
      fields.Find("tools") == nullptr && fields.Find("functions") != nullptr;
  return request;
}

ApiResult<GenerationParams> ParseGenerationParams(const Json& body,
                                                  const GenerationParams& defaults,
                                                  const std::string& path) {
  GenerationParams params = defaults;
  FieldReader fields(body, path);
  ReadSampling(&fields, &params);
  ReadLimits(&fields, &params);
  if (fields.error()) return tl::unexpected(*fields.error());
  return params;
}

}  // namespace cairn
