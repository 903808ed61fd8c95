#include "api/ollama/ollama_request.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "api/media/media_reader.h"
#include "api/ollama/ollama_models.h"
#include "api/request/answer_format.h"
#include "chat/template/reasoning_controls.h"

namespace cairn {
namespace {

constexpr int64_t kOptionMax = int64_t{1} << 40;

// The options that fix how Ollama loads a model.
constexpr std::array<std::string_view, 6> kLoadNumbers = {"num_ctx",  "num_batch",  "num_gpu",
                                                          "main_gpu", "num_thread", "num_gqa"};
constexpr std::array<std::string_view, 8> kLoadSwitches = {
    "numa",       "low_vram", "f16_kv",    "logits_all",
    "vocab_only", "use_mmap", "use_mlock", "penalize_newline"};

// Parses a time as Go writes it: "1h30m", "90s", "-1ms"; a number alone is seconds. Returns
// seconds.
std::optional<double> GoDuration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    double number = 0;
    double place = 0;
    for (const char c : text.substr(0, digits)) {
      if (c == '.' && place > 0) return std::nullopt;
      if (c == '.') place = 1;
      if (c == '.') continue;
      place /= 10;
      number = place > 0 ? number + place * (c - '0') : number * 10 + (c - '0');
    }
    if (digits == 0 || text.substr(0, digits) == ".") return std::nullopt;
    text.remove_prefix(digits);
    const std::string_view unit =
        text.substr(0, std::min(text.find_first_of("0123456789."), text.size()));
    // Without a unit, as in a number.
    const bool is_whole = unit.empty() && seconds == 0;
    const double scale = is_whole || unit == "s"        ? 1
                         : unit == "h"                  ? 3600
                         : unit == "m"                  ? 60
                         : unit == "ms"                 ? 1e-3
                         : unit == "us" || unit == "µs" ? 1e-6
                         : unit == "ns"                 ? 1e-9
                                                        : 0;
    if (scale == 0) return std::nullopt;
    seconds += number * scale;
    text.remove_prefix(unit.size());
  }
  return negative ? -seconds : seconds;
}

void ReadThink(FieldReader* fields, OllamaRequest* request) {
  const Json* think = fields->Find("think");
  if (think == nullptr) return;
  ReasoningWish* const wish = &request->chat.conversation.reasoning;
  if (think->is_boolean()) {
    wish->enabled = think->get<bool>();
    request->thinks = *wish->enabled;
    return;
  }
  const auto& efforts = ReasoningEfforts();
  if (!think->is_string() ||
      std::find(efforts.begin(), efforts.end(), think->text()) == efforts.end()) {
    return fields->Fail("think", "true, false, or one of " + KnownEfforts());
  }
  wish->effort = think->text();
  request->thinks = !IsOff(*wish);
}

// Returns the GBNF of `format`; empty if there is none.
ApiResult<std::string> ReadFormat(const Json& body, Loosened* loosened, GrammarCache* cache) {
  const Json* format = FieldReader(body, "").Find("format");
  if (format == nullptr || *format == Json("")) return std::string();
  if (*format == Json("json")) {
    return ParseAnswerFormat({{"type", "json_object"}}, "format", loosened, cache);
  }
  if (!format->is_object()) return tl::unexpected(FieldError("format", "'json' or a JSON schema"));
  auto grammar =
      ParseAnswerFormat({{"type", "json_object"}, {"schema", *format}}, "format", loosened, cache);
  if (grammar) return grammar;
  // The schema is the field itself.
  ApiError error = grammar.error();
  for (std::string* text : {&error.field, &error.message}) {
    const size_t at = text->find("format.schema");
    if (at != std::string::npos)
      text->replace(at, std::string_view("format.schema").size(), "format");
  }
  return tl::unexpected(std::move(error));
}

// Appends the images of `json`, and behind them `text`.
void ReadTextAndImages(const Json& json, const std::string& place, std::string_view text,
                       FieldReader* fields, MediaReader* media, Message* message) {
  const Json* images = FieldReader(json, "").Find("images");
  const std::string expected = "a list of images as base64";
  if (images != nullptr && !images->is_array()) return fields->Fail("images", expected);
  const bool may_show = message->role == Role::kUser || message->role == Role::kTool;
  if (images != nullptr && !images->empty() && !may_show) {
    return fields->Fail("images", "absent in a message that is not the user's or a tool's");
  }
  for (size_t i = 0; images != nullptr && i < images->size(); ++i) {
    const Json& image = (*images)[i];
    const std::string image_place = place + "images[" + std::to_string(i) + "]";
    if (!image.is_string()) return fields->Fail("images", expected);
    // Some clients send a data: URL all the same.
    std::string_view base64 = image.text();
    if (base64.starts_with("data:")) base64.remove_prefix(base64.find(',') + 1);
    auto medium = media->ReadBase64OfAnyKind(base64, image_place);
    if (!medium) return fields->Fail(std::move(medium.error()));
    AppendMarker(*std::move(medium), &message->content, &message->media);
  }
  AppendTextPart(text, message);
}

void ReadCall(const Json& json, const std::string& place, FieldReader* fields, Message* message) {
  const Json* function = json.is_object() ? FieldReader(json, "").Find("function") : nullptr;
  if (function == nullptr || !function->is_object()) {
    return fields->Fail(place + ".function", "an object with 'name' and 'arguments'");
  }
  ToolCall call;
  FieldReader outer(json, "");
  outer.String("id", &call.id);
  FieldReader inner(*function, "");
  inner.String("name", &call.name);
  const Json* arguments = inner.Find("arguments");
  call.arguments = "{}";
  if (arguments != nullptr && arguments->is_object()) call.arguments = ToText(*arguments);
  if (arguments != nullptr && arguments->is_string()) call.arguments = arguments->text();
  if (outer.error()) return fields->Fail(place + ".id", "a string");
  if (inner.error()) return fields->Fail(place + ".function.name", "a string");
  if (arguments != nullptr && !arguments->is_object() && !arguments->is_string()) {
    return fields->Fail(place + ".function.arguments", "an object");
  }
  message->tool_calls.push_back(std::move(call));
}

ApiResult<Message> ReadMessage(const Json& json, size_t index, MediaReader* media) {
  const std::string place = ItemPlace("messages", index);
  if (!json.is_object()) return tl::unexpected(FieldError(place, "an object"));
  FieldReader fields(json, place + ".");
  Message message;
  std::string role;
  std::string content;
  fields.String("role", &role);
  fields.String("content", &content);
  const auto known = RoleFromName(role);
  if (!known) fields.Fail("role", "'system', 'user', 'assistant' or 'tool'");
  message.role = known.value_or(Role::kUser);
  ReadTextAndImages(json, place + ".", content, &fields, media, &message);
  fields.String("thinking", &message.reasoning);
  fields.String("tool_call_id", &message.tool_call_id);
  fields.String("tool_name", &message.name);
  const Json* calls = fields.Find("tool_calls");
  if (calls != nullptr && !calls->is_array()) fields.Fail("tool_calls", "a list");
  for (size_t i = 0; calls != nullptr && calls->is_array() && i < calls->size(); ++i) {
    if (!fields.error()) ReadCall((*calls)[i], ItemPlace("tool_calls", i), &fields, &message);
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return message;
}

// Older clients send neither ids of calls nor those of results, and a result may lack its tool's
// name too. The ids that are made here are the same at every turn.
void LinkResults(std::vector<Message>* messages) {
  std::vector<const ToolCall*> open;
  for (size_t i = 0; i < messages->size(); ++i) {
    Message& message = (*messages)[i];
    if (message.role == Role::kAssistant) {
      open.clear();
      for (size_t k = 0; k < message.tool_calls.size(); ++k) {
        ToolCall& call = message.tool_calls[k];
        if (call.id.empty()) call.id = "call_" + std::to_string(i) + "_" + std::to_string(k);
        open.push_back(&call);
      }
    }
    if (message.role != Role::kTool) continue;
    const auto found = std::find_if(open.begin(), open.end(), [&](const ToolCall* call) {
      return message.tool_call_id.empty() ? message.name.empty() || call->name == message.name
                                          : call->id == message.tool_call_id;
    });
    if (found == open.end()) continue;
    message.tool_call_id = (*found)->id;
    if (message.name.empty()) message.name = (*found)->name;
    open.erase(found);
  }
}

// `logprobs` and `top_logprobs` as in OpenAI's chats, and `cairn`.
ApiResult<void> ReadAnswerOptions(const Json& body, ChatRequest* chat) {
  auto explain = ParseExplain(body);
  if (!explain) return tl::unexpected(explain.error());
  chat->options.explain = *explain;
  constexpr int64_t kTopMax = 20;
  FieldReader fields(body, "");
  bool wanted = false;
  int64_t top = 0;
  fields.Bool("logprobs", &wanted);
  fields.Integer("top_logprobs", 0, kTopMax, &top);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (wanted) chat->options.logprobs = static_cast<size_t>(top);
  return {};
}

// Parses the fields that both requests have.
ApiResult<OllamaRequest> ReadShared(const Json& body, const GenerationParams& defaults,
                                    GrammarCache* cache) {
  OllamaRequest request;
  auto model = ReadOllamaModel(body);
  if (!model) return tl::unexpected(model.error());
  request.model = *std::move(model);
  FieldReader fields(body, "");
  fields.Bool("stream", &request.stream);
  ReadThink(&fields, &request);
  if (fields.error()) return tl::unexpected(*fields.error());
  const auto unloads = ReadKeepAlive(body);
  if (!unloads) return tl::unexpected(unloads.error());
  request.unloads = *unloads;
  ChatRequest* const chat = &request.chat;
  chat->stream = request.stream;
  chat->reuse = defaults.reuse;
  if (auto read = ReadAnswerOptions(body, chat); !read) return tl::unexpected(read.error());
  auto params = ReadOllamaOptions(body, defaults);
  if (!params) return tl::unexpected(params.error());
  chat->params = *std::move(params);
  auto grammar = ReadFormat(body, &chat->loosened, cache);
  if (!grammar) return tl::unexpected(grammar.error());
  chat->grammar = *std::move(grammar);
  chat->grammar_is_format = true;
  return request;
}

ApiResult<Tokens> ReadContext(const Json& body) {
  const Json* list = FieldReader(body, "").Find("context");
  Tokens tokens;
  if (list == nullptr) return tokens;
  const std::string expected = "the list of numbers that an earlier answer returned";
  if (!list->is_array()) return tl::unexpected(FieldError("context", expected));
  for (const Json& one : *list) {
    const bool fits = one.is_number_integer() && one.get<int64_t>() >= 0 &&
                      one.get<int64_t>() <= std::numeric_limits<Token>::max();
    if (!fits) return tl::unexpected(FieldError("context", expected));
    tokens.push_back(one.get<Token>());
  }
  return tokens;
}

// Checks what goes together around the prompt of /api/generate.
void CheckGenerate(const OllamaRequest& request, const std::string& chat_template,
                   FieldReader* fields) {
  const bool has_images = !request.chat.conversation.messages.empty() &&
                          !request.chat.conversation.messages.back().media.empty();
  if (!chat_template.empty()) {
    fields->Fail("template",
                 "absent: the model's own template is used; send the complete text with 'raw'");
  }
  if (!request.suffix.empty() && (request.raw || has_images || !request.context.empty())) {
    fields->Fail("suffix", "absent with 'raw', 'images' or 'context'");
  }
  if (!request.context.empty() && (request.raw || has_images)) {
    fields->Fail("context", "absent with 'raw' or 'images'; POST /api/chat takes whole chats");
  }
}

}  // namespace

ApiResult<bool> ReadKeepAlive(const Json& body) {
  const Json* value = FieldReader(body, "").Find("keep_alive");
  if (value == nullptr) return false;
  std::optional<double> seconds;
  if (value->is_number()) seconds = value->get<double>();
  if (value->is_string()) seconds = GoDuration(value->text());
  if (!seconds || !std::isfinite(*seconds)) {
    return tl::unexpected(
        FieldError("keep_alive", "seconds as a number, or a time such as '5m'; -1 means for ever"));
  }
  return *seconds == 0;
}

ApiResult<GenerationParams> ReadOllamaOptions(const Json& body, const GenerationParams& defaults) {
  const Json* options = FieldReader(body, "").Find("options");
  if (options == nullptr) return defaults;
  if (!options->is_object()) return tl::unexpected(FieldError("options", "an object"));
  auto params = ParseGenerationParams(*options, defaults, "options.");
  if (!params) return params;
  FieldReader fields(*options, "options.");
  int64_t tokens_max = -1;
  // -1 and -2 are both no limit but the context's.
  fields.Integer("num_predict", -2, kOptionMax, &tokens_max);
  if (tokens_max >= 0) params->tokens_max = static_cast<size_t>(tokens_max);
  fields.Integer("num_keep", -1, kOptionMax, &params->keep_tokens);
  for (const std::string_view name : kLoadNumbers) {
    int64_t unused = 0;
    fields.Integer(name, -kOptionMax, kOptionMax, &unused);
  }
  for (const std::string_view name : kLoadSwitches) {
    bool unused = false;
    fields.Bool(name, &unused);
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return params;
}

ApiResult<OllamaRequest> ParseOllamaChat(const Json& body, const GenerationParams& defaults,
                                         const MediaRules& rules, GrammarCache* cache) {
  auto request = ReadShared(body, defaults, cache);
  if (!request) return request;
  FieldReader fields(body, "");
  Conversation* const conversation = &request->chat.conversation;
  const Json* messages = fields.Find("messages");
  if (messages != nullptr && !messages->is_array()) {
    return tl::unexpected(FieldError("messages", "a list of messages"));
  }
  request->is_empty = messages == nullptr || messages->empty();
  MediaReader media(rules);
  for (size_t i = 0; messages != nullptr && i < messages->size(); ++i) {
    auto message = ReadMessage((*messages)[i], i, &media);
    if (!message) return tl::unexpected(message.error());
    conversation->messages.push_back(*std::move(message));
  }
  LinkResults(&conversation->messages);
  const Json* tools = fields.Find("tools");
  if (tools != nullptr) {
    auto made = Tools::Make(*tools);
    if (!made) return tl::unexpected(ToApiError(made.error()));
    conversation->tools = *std::move(made);
  }
  conversation->end = PromptEnd::kUsual;
  return request;
}

ApiResult<OllamaRequest> ParseOllamaGenerate(const Json& body, const GenerationParams& defaults,
                                             const MediaRules& rules, GrammarCache* cache) {
  auto request = ReadShared(body, defaults, cache);
  if (!request) return request;
  FieldReader fields(body, "");
  std::string prompt;
  std::string system;
  std::string chat_template;
  fields.String("prompt", &prompt);
  fields.String("system", &system);
  fields.String("template", &chat_template);
  fields.String("suffix", &request->suffix);
  fields.Bool("raw", &request->raw);
  auto context = ReadContext(body);
  if (!context) return tl::unexpected(context.error());
  request->context = *std::move(context);
  Conversation* const conversation = &request->chat.conversation;
  if (!system.empty()) {
    conversation->messages.push_back({.role = Role::kSystem, .content = std::move(system)});
  }
  MediaReader media(rules);
  Message user;
  ReadTextAndImages(body, "", prompt, &fields, &media, &user);
  request->is_empty = user.content.empty() && request->suffix.empty();
  conversation->messages.push_back(std::move(user));
  if (!fields.error()) CheckGenerate(*request, chat_template, &fields);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace cairn
