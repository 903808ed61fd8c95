#include "api/openai/responses_request.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/media/media_parts.h"
#include "api/openai/response_items.h"
#include "api/request/answer_format.h"
#include "api/request/reasoning_request.h"
#include "api/request/reference_fields.h"

namespace cairn {
namespace {

// The tools that the client's searches found.
struct FoundTools {
  ResponseTools* known = nullptr;
  Loosened* loosened = nullptr;
  Json tools = Json::array();  // in chat completions' form
};

// The parts that items are read with.
struct ItemReader {
  MediaReader* media = nullptr;
  FoundTools* found = nullptr;
};

// Returns the text of a field. Null if it is absent or not a string.
const std::string* StringOf(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? &found->text() : nullptr;
}

// Appends a text, or an image or a recording, to the message's content. `left_out` is set in an
// answer, which has only text; other parts, which only the service that wrote them can use, are
// left out and noted in it.
ApiResult<void> AddPart(const Json& part, const std::string& place, MediaReader* media,
                        std::vector<std::string>* left_out, Message* message) {
  const auto type = NeededString(part, place, "type");
  if (!type) return tl::unexpected(type.error());
  if (IsMediaPart(*type) && left_out == nullptr) {
    auto medium = ReadMediaPart(part, *type, place, media);
    if (!medium) return tl::unexpected(medium.error());
    AppendMarker(*std::move(medium), &message->content, &message->media);
    return {};
  }
  const bool refusal = *type == "refusal";
  if (!refusal && *type != "input_text" && *type != "output_text" && *type != "text") {
    if (left_out != nullptr && !IsMediaPart(*type)) {
      NoteLeftOut(*type, left_out);
      return {};
    }
    const std::string expected = left_out != nullptr
                                     ? "'output_text' in a message of the assistant"
                                     : "'input_text', 'input_image' or 'input_audio'";
    return tl::unexpected(FieldError(place + ".type", expected + ", not '" + *type + "'"));
  }
  const auto text = NeededString(part, place, refusal ? "refusal" : "text");
  if (!text) return tl::unexpected(text.error());
  AppendTextPart(*text, message);
  return {};
}

// Reads the content of a message that has none yet: a string or a list of parts.
ApiResult<void> ReadItemContent(const Json& item, const std::string& item_place,
                                const std::string& name, MediaReader* media,
                                std::vector<std::string>* left_out, Message* message) {
  const std::string place = item_place + "." + name;
  if (const std::string* text = StringOf(item, name)) {
    message->content = *text;
    return {};
  }
  const auto content = item.find(name);
  if (content == item.end() || !content->is_array()) {
    return tl::unexpected(FieldError(place, "a string or a list of parts"));
  }
  for (size_t i = 0; i < content->size(); ++i) {
    auto added = AddPart((*content)[i], ItemPlace(place, i), media, left_out, message);
    const bool last = i + 1 == content->size();
    if (added) added = AddBreakpoint((*content)[i], ItemPlace(place, i), last, &message->marks);
    if (!added) return added;
  }
  return {};
}

// Clients leave out either list or send it empty; encrypted content is ignored.
std::string ReasoningText(const Json& item) {
  for (const char* list : {"content", "summary"}) {
    Message message;
    const auto parts = item.find(list);
    if (parts == item.end() || !parts->is_array()) continue;
    for (const Json& part : *parts) {
      if (const std::string* piece = StringOf(part, "text")) AppendReasoningPart(*piece, &message);
    }
    if (!message.reasoning.empty()) return message.reasoning;
  }
  return "";
}

// Returns the assistant's message that the next item of an answer belongs to.
Message* OpenAnswer(std::vector<Message>* messages, bool fits) {
  const bool open = !messages->empty() && messages->back().role == Role::kAssistant && fits;
  if (!open) {
    messages->emplace_back();
    messages->back().role = Role::kAssistant;
  }
  return &messages->back();
}

bool HasText(const std::vector<Message>& messages) {
  return !messages.empty() && !messages.back().content.empty();
}

bool HasCalls(const std::vector<Message>& messages) {
  return !messages.empty() && !messages.back().tool_calls.empty();
}

ApiResult<void> AddMessageItem(const Json& item, const std::string& place, MediaReader* media,
                               Conversation* conversation) {
  std::vector<Message>* const messages = &conversation->messages;
  const auto name = NeededString(item, place, "role");
  if (!name) return tl::unexpected(name.error());
  const auto role = RoleFromName(*name);
  if (!role || role == Role::kTool) {
    return tl::unexpected(FieldError(
        place + ".role", "'user', 'assistant', 'developer' or 'system', not '" + *name + "'"));
  }
  const bool answer = role == Role::kAssistant;
  Message message;
  message.role = *role;
  auto read = ReadItemContent(item, place, "content", media,
                              answer ? &conversation->left_out : nullptr, &message);
  if (!read) return read;
  if (answer) {
    const bool fits = !HasText(*messages) && !HasCalls(*messages);
    Message* const open = OpenAnswer(messages, fits);
    open->content = std::move(message.content);
    open->part_begins = std::move(message.part_begins);
  } else {
    messages->push_back(std::move(message));
  }
  return {};
}

// The text of a call's arguments, which may be cut; an object too, as some clients send it.
ApiResult<std::string> ArgumentsText(const Json& item, const std::string& place) {
  const auto arguments = item.find("arguments");
  if (arguments == item.end() || arguments->is_null()) return std::string();
  if (arguments->is_object()) return ToText(*arguments);
  return NeededString(item, place, "arguments");
}

ApiResult<void> AddCall(const Json& item, const std::string& place,
                        std::vector<Message>* messages) {
  ToolCall call;
  for (const auto& [field, target] : {std::pair{"call_id", &call.id}, {"name", &call.name}}) {
    auto text = NeededString(item, place, field);
    if (!text) return tl::unexpected(text.error());
    *target = std::move(*text);
  }
  auto arguments = ArgumentsText(item, place);
  if (!arguments) return tl::unexpected(arguments.error());
  call.arguments = *std::move(arguments);
  OpenAnswer(messages, true)->tool_calls.push_back(std::move(call));
  return {};
}

// Adds a call of a tool that takes a text in place of arguments: the text is its only argument.
ApiResult<void> AddCustomCall(const Json& item, const std::string& place,
                              std::vector<Message>* messages) {
  ToolCall call;
  std::string input;
  for (const auto& [field, target] :
       {std::pair{"call_id", &call.id}, {"name", &call.name}, {"input", &input}}) {
    auto text = NeededString(item, place, field);
    if (!text) return tl::unexpected(text.error());
    *target = std::move(*text);
  }
  call.arguments = ToText({{"input", input}});
  OpenAnswer(messages, true)->tool_calls.push_back(std::move(call));
  return {};
}

ApiResult<void> AddCallOutput(const Json& item, const std::string& place, MediaReader* media,
                              std::vector<Message>* messages) {
  auto id = NeededString(item, place, "call_id");
  if (!id) return tl::unexpected(id.error());
  Message message;
  message.role = Role::kTool;
  message.tool_call_id = std::move(*id);
  auto read = ReadItemContent(item, place, "output", media, nullptr, &message);
  if (!read) return read;
  messages->push_back(std::move(message));
  return {};
}

// Adds a call of a tool of an MCP server that the service called itself, and its result.
void AddMcpCall(const Json& item, Conversation* conversation) {
  const std::string* id = StringOf(item, "id");
  const std::string* name = StringOf(item, "name");
  const std::string* arguments = StringOf(item, "arguments");
  if (id == nullptr || name == nullptr || arguments == nullptr) {
    return NoteLeftOut("mcp_call", &conversation->left_out);
  }
  std::vector<Message>* const messages = &conversation->messages;
  OpenAnswer(messages, true)->tool_calls.push_back({*id, *name, *arguments});
  Message result{.role = Role::kTool, .tool_call_id = *id};
  for (const char* field : {"output", "error"}) {
    const std::string* text = StringOf(item, field);
    if (text != nullptr && !text->empty()) AppendTextPart(*text, &result);
  }
  messages->push_back(std::move(result));
}

void AddReasoningItem(const Json& item, Conversation* conversation) {
  std::vector<Message>* const messages = &conversation->messages;
  const std::string text = ReasoningText(item);
  const bool fits = !HasText(*messages) && !HasCalls(*messages);
  if (!text.empty()) {
    AppendReasoningPart(text, OpenAnswer(messages, fits));
  } else if (const std::string* sealed = StringOf(item, "encrypted_content")) {
    if (!sealed->empty()) NoteLeftOut("encrypted_reasoning", &conversation->left_out);
  }
}

// Adds the client's search for tools.
ApiResult<void> AddSearchCall(const Json& item, const std::string& place,
                              std::vector<Message>* messages) {
  ToolCall call{.name = kToolSearch};
  auto id = NeededString(item, place, "call_id");
  if (!id) return tl::unexpected(id.error());
  call.id = *std::move(id);
  auto arguments = ArgumentsText(item, place);
  if (!arguments) return tl::unexpected(arguments.error());
  call.arguments = *std::move(arguments);
  OpenAnswer(messages, true)->tool_calls.push_back(std::move(call));
  return {};
}

// Adds what the client's search found: the definitions of tools, one a line.
ApiResult<void> AddSearchOutput(const Json& item, const std::string& place, FoundTools* found,
                                std::vector<Message>* messages) {
  auto id = NeededString(item, place, "call_id");
  if (!id) return tl::unexpected(id.error());
  ResponseToolReader reader(found->known, found->loosened);
  const auto tools = item.find("tools");
  auto read = reader.AddFound(tools == item.end() ? Json() : *tools, place + ".tools");
  if (!read) return read;
  Message message{.role = Role::kTool, .tool_call_id = *std::move(id), .name = kToolSearch};
  for (const Json& tool : reader.Take()) {
    message.content += ToText(tool["function"]) + "\n";
    const bool is_new =
        std::find(found->tools.begin(), found->tools.end(), tool) == found->tools.end();
    if (is_new) found->tools.push_back(tool);
  }
  if (message.content.empty()) message.content = "(no tools found)";
  messages->push_back(std::move(message));
  return {};
}

bool IsClients(const Json& item) {
  const std::string* execution = StringOf(item, "execution");
  return execution != nullptr && *execution == "client";
}

ApiResult<void> AddItem(const Json& item, const std::string& place, const ItemReader& from,
                        Conversation* conversation) {
  MediaReader* const media = from.media;
  if (!item.is_object()) return tl::unexpected(FieldError(place, "an object"));
  std::vector<Message>* const messages = &conversation->messages;
  // Messages may come without a type.
  const std::string* named = StringOf(item, "type");
  const std::string type = named != nullptr ? *named : "message";
  if (type == "message") return AddMessageItem(item, place, media, conversation);
  if (type == "function_call") return AddCall(item, place, messages);
  if (type == "custom_tool_call") return AddCustomCall(item, place, messages);
  if (type == "function_call_output" || type == "custom_tool_call_output") {
    return AddCallOutput(item, place, media, messages);
  }
  if (type == "tool_search_call" && IsClients(item)) return AddSearchCall(item, place, messages);
  if (type == "tool_search_output" && IsClients(item)) {
    return AddSearchOutput(item, place, from.found, messages);
  }
  if (type == "item_reference") {
    return tl::unexpected(FieldError(
        place + ".type",
        "the item itself: this server stores no responses, so references cannot be resolved"));
  }
  if (type == "reasoning") {
    AddReasoningItem(item, conversation);
  } else if (type == "mcp_call") {
    AddMcpCall(item, conversation);
  } else {
    NoteLeftOut(type, &conversation->left_out);  // of tools that only its service has
  }
  return {};
}

ApiResult<void> AddItems(const Json& items, const std::string& place, const ItemReader& from,
                         Conversation* conversation) {
  for (size_t i = 0; i < items.size(); ++i) {
    auto added = AddItem(items[i], ItemPlace(place, i), from, conversation);
    if (!added) return added;
  }
  return {};
}

// One turn at a time, because all of them together may be large.
ApiResult<void> AddHistory(const ResponseTurns& history, const ItemReader& from,
                           Conversation* conversation) {
  for (const auto& turn : history) {
    auto added = AddItems(Json::parse(turn->input), turn->id + ".input", from, conversation);
    if (!added) return added;
    added =
        AddItems(Json::parse(turn->response)["output"], turn->id + ".output", from, conversation);
    if (!added) return added;
  }
  return {};
}

ApiResult<void> ReadInput(const Json& body, const ResponseTurns& history, const ItemReader& from,
                          Conversation* conversation) {
  std::vector<Message>* const messages = &conversation->messages;
  std::string instructions;
  FieldReader fields(body, "");
  fields.String("instructions", &instructions);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (!instructions.empty()) {
    messages->emplace_back();
    messages->back().role = Role::kSystem;
    messages->back().content = std::move(instructions);
  }
  auto added = AddHistory(history, from, conversation);
  if (!added) return added;
  if (const std::string* input = StringOf(body, "input")) {
    messages->emplace_back();
    messages->back().content = *input;
    return {};
  }
  const auto items = body.find("input");
  if (items == body.end() || !items->is_array()) {
    return tl::unexpected(FieldError("input", "a string or a list of items"));
  }
  if (auto fits = CheckInputItems(*items); !fits) return fits;
  added = AddItems(*items, "input", from, conversation);
  if (!added) return added;
  if (messages->empty()) return tl::unexpected(FieldError("input", "at least one message"));
  return {};
}

// Returns the GBNF that the answer's text must match, from `text.format`; empty if it is free.
ApiResult<std::string> ReadTextFormat(const Json& body, Loosened* loosened, GrammarCache* cache) {
  const Json* text = FieldReader(body, "").Find("text");
  if (text == nullptr) return std::string();
  if (!text->is_object()) return tl::unexpected(FieldError("text", "an object"));
  const Json* format = FieldReader(*text, "").Find("format");
  if (format == nullptr) return std::string();
  return ParseAnswerFormat(*format, "text.format", loosened, cache);
}

// OpenAI's limits, which keep the metadata of stored conversations small.
void CheckMetadata(FieldReader* fields) {
  constexpr size_t kPairsMax = 16;
  constexpr size_t kKeyBytesMax = 64;
  constexpr size_t kValueBytesMax = 512;
  const Json* metadata = fields->Find("metadata");
  if (metadata == nullptr) return;
  bool fits = metadata->is_object() && metadata->size() <= kPairsMax;
  if (fits) {
    for (const auto& [name, value] : metadata->items()) {
      fits = fits && name.size() <= kKeyBytesMax && value.is_string() &&
             value.text().size() <= kValueBytesMax;
    }
  }
  if (!fits) {
    fields->Fail("metadata",
                 "an object of at most 16 strings of at most 512 bytes, with names of at most 64");
  }
}

Json RepeatedFields(const Json& body) {
  Json repeated = Json::object();
  for (const char* name : {"instructions", "metadata", "previous_response_id"}) {
    const Json* value = FieldReader(body, "").Find(name);
    if (value != nullptr && *value != Json("")) repeated[name] = *value;
  }
  if (const Json* text = FieldReader(body, "").Find("text")) {
    repeated["text"]["format"]["type"] = "text";
    repeated["text"].update(*text);
  }
  return repeated;
}

}  // namespace

ApiResult<std::shared_ptr<const StoredResponses::Chain>> FindPreviousResponse(
    const Json& body, NamespaceId name_space, StoredResponses* stored) {
  constexpr const char* kField = "previous_response_id";
  FieldReader fields(body, "");
  std::string id;
  fields.String(kField, &id);
  if (fields.error()) return tl::unexpected(*fields.error());
  if (id.empty()) return nullptr;
  if (stored == nullptr) {
    return tl::unexpected(FieldError(kField,
                                     "absent: this server stores no responses (--responses-store "
                                     "0); send the whole conversation"));
  }
  auto chain = stored->Find(id, name_space);
  if (!chain) chain.error().field = kField;
  return chain;
}

namespace {

ApiResult<void> ReadTools(const Json* list, ResponsesRequest* request) {
  if (list == nullptr) return {};
  ResponseToolReader reader(&request->tools, &request->chat.loosened);
  auto read = reader.AddOffered(*list, "tools");
  if (!read) return read;
  auto shown = Tools::Make(reader.Take());
  if (!shown) return tl::unexpected(ToApiError(shown.error()));
  Conversation& conversation = request->chat.conversation;
  conversation.tools = *std::move(shown);
  for (const std::string& type : reader.left_out()) NoteLeftOut(type, &conversation.left_out);
  return {};
}

}  // namespace

ApiResult<ResponsesRequest> ParseResponsesRequest(const Json& body,
                                                  const GenerationParams& defaults,
                                                  const ResponseTurns& history,
                                                  const MediaRules& rules, GrammarCache* cache) {
  ResponsesRequest request;
  ChatRequest& chat = request.chat;
  FieldReader fields(body, "");
  auto read = ReadTools(fields.Find("tools"), &request);
  if (!read) return tl::unexpected(read.error());
  MediaReader media(rules);
  FoundTools found{&request.tools, &chat.loosened};
  read = ReadInput(body, history, {&media, &found}, &chat.conversation);
  if (read) read = RefuseUnsupported(body, Reference::kResponses);
  if (!read) return tl::unexpected(read.error());
  auto loaded = Tools::Make(std::move(found.tools));
  if (!loaded) return tl::unexpected(ToApiError(loaded.error()));
  chat.conversation.loaded_tools = *std::move(loaded);
  CheckMetadata(&fields);
  auto grammar = ReadTextFormat(body, &chat.loosened, cache);
  if (!grammar) return tl::unexpected(grammar.error());
  chat.grammar = std::move(*grammar);
  chat.grammar_is_format = true;
  auto choice = ParseToolChoice(body);
  if (!choice) return tl::unexpected(choice.error());
  chat.tool_choice = std::move(*choice);
  const auto explain = ParseExplain(body);
  if (!explain) return tl::unexpected(explain.error());
  chat.options.explain = *explain;
  auto hints = ParseCacheHints(body);
  if (!hints) return tl::unexpected(hints.error());
  chat.options.cache = *std::move(hints);
  fields.Bool("return_progress", &chat.options.progress);
  fields.Bool("timings_per_token", &chat.options.timings_per_token);
  chat.params = defaults;
  chat.reuse = defaults.reuse;
  int64_t tokens_max = -1;
  fields.Integer("max_output_tokens", 0, int64_t{1} << 40, &tokens_max);
  if (tokens_max >= 0) chat.params.tokens_max = static_cast<size_t>(tokens_max);
  fields.Number("temperature", 0, kNumberMax, &chat.params.sampling.temperature);
  fields.Number("top_p", 0, 1, &chat.params.sampling.top_p);
  fields.Bool("stream", &chat.stream);
  fields.Bool("eager_input_streaming", &chat.eager_calls);
  fields.Bool("store", &request.store);
  request.repeated = RepeatedFields(body);
  ReadTemplateKwargs(&fields, &chat.conversation);
  ReadReasoningOptions(&fields, &chat.conversation.reasoning);
  ReadThinkingBudget(&fields, &chat.params.reasoning);
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace cairn
