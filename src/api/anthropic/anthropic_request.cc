#include "api/anthropic/anthropic_request.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/anthropic/anthropic_tools.h"
#include "api/anthropic/context_management.h"
#include "api/media/media_parts.h"
#include "api/request/answer_format.h"
#include "api/request/reasoning_request.h"
#include "api/request/reference_fields.h"
#include "api/request/stop_limits.h"
#include "chat/text/text_parts.h"

namespace cairn {
namespace {

constexpr int64_t kHourS = 3600;

ApiResult<std::string> BlockType(const Json& block, const std::string& place) {
  if (!block.is_object()) return tl::unexpected(FieldError(place, "an object with a 'type'"));
  return NeededString(block, place, "type");
}

ApiError NotReadable(const std::string& type, const std::string& place, bool answer) {
  std::string expected = answer ? "'text'" : "'text' or 'image'";
  expected += ", not '" + type + "'";
  if (answer && type == "image") expected += ": the assistant's messages hold no images";
  if (type == "document") {
    expected += ": this server reads only documents whose source is a text; send the text";
  }
  return FieldError(place + ".type", expected);
}

// Returns the mark of an object, or nullopt.
ApiResult<std::optional<CacheMark>> ReadMark(const Json& object, const std::string& place) {
  const Json* control = FieldReader(object, "").Find("cache_control");
  if (control == nullptr) return std::optional<CacheMark>();
  const std::string control_place = (place.empty() ? "" : place + ".") + "cache_control";
  const auto type = BlockType(*control, control_place);
  if (!type) return tl::unexpected(type.error());
  if (*type != "ephemeral") {
    return tl::unexpected(FieldError(control_place + ".type", "'ephemeral'"));
  }
  std::string ttl = "5m";
  FieldReader fields(*control, control_place + ".");
  fields.String("ttl", &ttl);
  if (ttl != "5m" && ttl != "1h") fields.Fail("ttl", "'5m' or '1h'");
  if (fields.error()) return tl::unexpected(*fields.error());
  return CacheMark{ttl == "1h" ? kHourS : CacheMark().ttl_s};
}

// Adds a block's mark to those of its message.
ApiResult<void> AddMark(const Json& block, const std::string& place, bool last,
                        std::vector<CacheMark>* marks) {
  auto mark = ReadMark(block, place);
  if (!mark) return tl::unexpected(mark.error());
  if (!*mark) return {};
  (*mark)->inside = !last;
  marks->push_back(**mark);
  return {};
}

// The blocks of a message are read with these. Either may be null: it has no media then, or no
// tools.
struct BlockReader {
  MediaReader* media = nullptr;
  AnthropicTools* tools = nullptr;
};

ApiResult<void> ReadMessageContent(const Json* content, const std::string& place, BlockReader from,
                                   Message* message);
ApiResult<void> AddBlock(const Json& block, const std::string& place, BlockReader from,
                         Message* message);

// Makes a document begin on a line of its own, whatever the template puts between parts.
void BeginLine(Message* message) {
  const std::string& content = message->content;
  const bool behind_medium = !message->media.empty() && message->media.back().end == content.size();
  if (!content.empty() && !content.ends_with('\n') && !behind_medium) message->content += '\n';
}

// Appends a document whose source is a text, or a list of blocks, with its title above it.
ApiResult<void> AddDocument(const Json& block, const std::string& place, BlockReader from,
                            Message* message) {
  FieldReader fields(block, place + ".");
  std::string title;
  fields.String("title", &title);
  const Json* const source = fields.Find("source");
  const std::string source_place = place + ".source";
  if (source == nullptr) fields.Fail("source", "an object with a 'type'");
  if (fields.error()) return tl::unexpected(*fields.error());
  const auto type = BlockType(*source, source_place);
  if (!type) return tl::unexpected(type.error());
  if (*type != "text" && *type != "content") {
    return tl::unexpected(NotReadable("document", place, from.media == nullptr));
  }
  BeginLine(message);
  if (!title.empty()) message->content += title + "\n";
  const size_t begin = message->content.size();
  const char* const name = *type == "text" ? "data" : "content";
  const Json* const content = FieldReader(*source, "").Find(name);
  if (*type == "content" && content != nullptr && content->is_array()) {
    for (size_t i = 0; i < content->size(); ++i) {
      auto added = AddBlock((*content)[i], ItemPlace(source_place + ".content", i), from, message);
      if (!added) return added;
    }
  } else {
    const auto text = NeededString(*source, source_place, name);
    if (!text) return tl::unexpected(text.error());
    message->content += *text;
  }
  std::erase(message->part_begins, begin);  // the line break stands there
  message->content += "\n";
  return {};
}

// Appends what a search of the client's found: title, source and texts, a line each.
ApiResult<void> AddSearchResult(const Json& block, const std::string& place, Message* message) {
  FieldReader fields(block, place + ".");
  std::string title;
  std::string source;
  fields.String("title", &title);
  fields.String("source", &source);
  if (fields.error()) return tl::unexpected(*fields.error());
  Conversation inside{.messages = {Message{}}};
  Message& texts = inside.messages.front();
  auto read = ReadMessageContent(fields.Find("content"), place + ".content", {}, &texts);
  if (!read) return read;
  JoinTextParts({}, &inside);
  BeginLine(message);
  for (const std::string* line : {&title, &source, &texts.content}) {
    if (!line->empty()) message->content += *line + "\n";
  }
  return {};
}

// Appends a text block or an image to the message's content.
ApiResult<void> AddBlock(const Json& block, const std::string& place, BlockReader from,
                         Message* message) {
  const auto type = BlockType(block, place);
  if (!type) return tl::unexpected(type.error());
  if (*type == "image" && from.media != nullptr) {
    auto medium = ReadImageBlock(block, place, from.media);
    if (!medium) return tl::unexpected(medium.error());
    AppendMarker(*std::move(medium), &message->content, &message->media);
    return {};
  }
  if (*type == "document") return AddDocument(block, place, from, message);
  if (*type == "search_result") return AddSearchResult(block, place, message);
  const bool reference = *type == "tool_reference";  // what a search for tools found
  if (!reference && *type != "text") {
    return tl::unexpected(NotReadable(*type, place, from.media == nullptr));
  }
  const auto text = NeededString(block, place, reference ? "tool_name" : "text");
  if (!text) return tl::unexpected(text.error());
  const bool shows = reference && from.tools != nullptr;
  AppendTextPart(shows ? from.tools->Reference(*text) : *text, message);
  return {};
}

// Reads the content of a message that has none yet, and its marks: a string or a list of blocks
// with texts and images. Null is no text.
ApiResult<void> ReadMessageContent(const Json* content, const std::string& place, BlockReader from,
                                   Message* message) {
  if (content == nullptr) return {};
  if (content->is_string()) {
    message->content = content->text();
    return {};
  }
  if (!content->is_array()) {
    return tl::unexpected(FieldError(place, "a string or a list of blocks"));
  }
  for (size_t i = 0; i < content->size(); ++i) {
    auto added = AddBlock((*content)[i], ItemPlace(place, i), from, message);
    const bool last = i + 1 == content->size();
    if (added) added = AddMark((*content)[i], ItemPlace(place, i), last, &message->marks);
    if (!added) return added;
  }
  return {};
}

ApiResult<Message> ReadToolResult(const Json& block, const std::string& place, BlockReader from) {
  const auto id = NeededString(block, place, "tool_use_id");
  if (!id) return tl::unexpected(id.error());
  const FieldReader fields(block, place + ".");
  Message message;
  message.role = Role::kTool;
  message.tool_call_id = *id;
  auto read = ReadMessageContent(fields.Find("content"), place + ".content", from, &message);
  if (read) read = AddMark(block, place, true, &message.marks);
  if (!read) return tl::unexpected(read.error());
  return message;
}

ApiResult<ToolCall> ReadToolUse(const Json& block, const std::string& place) {
  auto id = NeededString(block, place, "id");
  if (!id) return tl::unexpected(id.error());
  auto name = NeededString(block, place, "name");
  if (!name) return tl::unexpected(name.error());
  const FieldReader fields(block, place + ".");
  const Json* input = fields.Find("input");
  // A stream that was cut inside a call had only the beginning of an object.
  const bool cut = input != nullptr && input->is_string();
  if (input != nullptr && !input->is_object() && !cut) {
    return tl::unexpected(FieldError(place + ".input", "an object, or the text of one"));
  }
  std::string arguments = input == nullptr ? "{}" : cut ? input->text() : ToText(*input);
  return ToolCall{std::move(*id), std::move(*name), std::move(arguments)};
}

// Adds one block to an assistant's message. Another service may have written it: calls of its own
// tools, and their results, are left out.
ApiResult<void> AddAssistantBlock(const Json& block, const std::string& place, Message* message,
                                  std::vector<std::string>* left_out) {
  const auto type = BlockType(block, place);
  if (!type) return tl::unexpected(type.error());
  if (*type == "redacted_thinking") return {};  // encrypted by the service that wrote it
  if (*type == "tool_use") {
    auto call = ReadToolUse(block, place);
    if (!call) return tl::unexpected(call.error());
    message->tool_calls.push_back(std::move(*call));
    return {};
  }
  if (*type == "compaction") {
    // A summary of what came before.
    std::string summary;
    FieldReader(block, "").String("content", &summary);
    if (!summary.empty()) AppendTextPart(summary, message);
    return {};
  }
  if (*type == "text" || *type == "image" || *type == "document" || *type == "search_result") {
    return AddBlock(block, place, {}, message);
  }
  if (*type != "thinking") {
    NoteLeftOut(*type, left_out);
    return {};
  }
  const auto text = NeededString(block, place, "thinking");
  if (!text) return tl::unexpected(text.error());
  AppendReasoningPart(*text, message);  // whoever signed it
  return {};
}

ApiResult<void> AddAssistantMessage(const Json& content, const std::string& place,
                                    Conversation* conversation) {
  Message message;
  message.role = Role::kAssistant;
  for (size_t i = 0; i < content.size(); ++i) {
    auto added =
        AddAssistantBlock(content[i], ItemPlace(place, i), &message, &conversation->left_out);
    if (added) {
      added = AddMark(content[i], ItemPlace(place, i), i + 1 == content.size(), &message.marks);
    }
    if (!added) return added;
  }
  conversation->messages.push_back(std::move(message));
  return {};
}

// Results come first, wherever they are in the list: templates expect them right after their calls.
ApiResult<void> AddUserMessage(const Json& content, const std::string& place, BlockReader from,
                               std::vector<Message>* messages) {
  Message message;
  bool has_text = content.empty();
  for (size_t i = 0; i < content.size(); ++i) {
    const Json& block = content[i];
    const auto type = BlockType(block, ItemPlace(place, i));
    if (!type) return tl::unexpected(type.error());
    if (*type == "tool_result") {
      auto result = ReadToolResult(block, ItemPlace(place, i), from);
      if (!result) return tl::unexpected(result.error());
      messages->push_back(std::move(*result));
      continue;
    }
    auto added = AddBlock(block, ItemPlace(place, i), from, &message);
    if (!added) return added;
    has_text = true;
    // Only the last text block is at the end of the message.
    if (!message.marks.empty()) message.marks.back().inside = true;
    auto marked = AddMark(block, ItemPlace(place, i), true, &message.marks);
    if (!marked) return marked;
  }
  if (has_text) messages->push_back(std::move(message));
  return {};
}

ApiResult<void> AddMessage(const Json& json, const std::string& place, BlockReader from,
                           Conversation* conversation) {
  if (!json.is_object()) return tl::unexpected(FieldError(place, "an object"));
  const auto name = NeededString(json, place, "role");
  if (!name) return tl::unexpected(name.error());
  const auto role = RoleFromName(*name);
  if (role != Role::kUser && role != Role::kAssistant && role != Role::kSystem) {
    return tl::unexpected(
        FieldError(place + ".role", "'user', 'assistant' or 'system', not '" + *name + "'"));
  }
  const Json* content = FieldReader(json, "").Find("content");
  const std::string content_place = place + ".content";
  // Clients make null of an answer that was cut at once.
  const bool none = role == Role::kAssistant && json.contains("content");
  if (content == nullptr && !none) {
    return tl::unexpected(FieldError(content_place, "a string or a list of blocks"));
  }
  const bool blocks = content != nullptr && content->is_array();
  if (blocks && role == Role::kUser) {
    return AddUserMessage(*content, content_place, from, &conversation->messages);
  }
  if (blocks && role == Role::kAssistant) {
    return AddAssistantMessage(*content, content_place, conversation);
  }
  Message message;
  message.role = *role;
  auto read = ReadMessageContent(content, content_place, from, &message);
  if (!read) return read;
  conversation->messages.push_back(std::move(message));
  return {};
}

// Parses `system` of the request.
ApiResult<void> AddSystem(const Json& body, BlockReader from, std::vector<Message>* messages) {
  Message message;
  message.role = Role::kSystem;
  auto read = ReadMessageContent(FieldReader(body, "").Find("system"), "system", from, &message);
  if (!read) return read;
  if (message.content.empty()) return {};
  messages->push_back(std::move(message));
  return {};
}

// Adds the tools, once the messages have referred to the deferred ones, and their marks.
ApiResult<void> AddTools(const Json& body, const AnthropicTools& tools,
                         Conversation* conversation) {
  auto shown = tools.Shown();
  auto loaded = tools.Loaded();
  if (!shown || !loaded) return tl::unexpected(shown ? loaded.error() : shown.error());
  conversation->tools = *std::move(shown);
  conversation->loaded_tools = *std::move(loaded);
  for (const std::string& type : tools.left_out()) NoteLeftOut(type, &conversation->left_out);
  const Json* const list = FieldReader(body, "").Find("tools");
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    auto marked = AddMark((*list)[i], ItemPlace("tools", i), true, &conversation->tools_marks);
    if (!marked) return marked;
  }
  return {};
}

// Whether the request asks for arguments while they are generated. Anthropic's field is one of each
// tool; a parser reads all calls in the same way.
void ReadEagerCalls(FieldReader* fields, bool* eager) {
  fields->Bool("eager_input_streaming", eager);
  const Json* tools = fields->Find("tools");
  if (tools == nullptr || !tools->is_array()) return;
  *eager = *eager || std::any_of(tools->begin(), tools->end(), [](const Json& tool) {
    return tool.is_object() && tool.value("eager_input_streaming", Json()) == Json(true);
  });
}

// The error text that Anthropic's clients recognize.
ApiResult<void> CheckMarks(const Conversation& conversation) {
  size_t marks = conversation.tools_marks.size();
  for (const Message& message : conversation.messages) marks += message.marks.size();
  if (marks <= kMarksMax) return {};
  ApiError error = FieldError("cache_control", "");
  error.message = "A maximum of " + std::to_string(kMarksMax) +
                  " blocks with cache_control may be provided. Found " + std::to_string(marks) +
                  ".";
  return tl::unexpected(error);
}

void ReadMessageLimits(FieldReader* fields, GenerationParams* params) {
  if (fields->Find("max_tokens") == nullptr) fields->Fail("max_tokens", "a whole number");
  int64_t tokens_max = 0;
  fields->Integer("max_tokens", 0, int64_t{1} << 40, &tokens_max);
  params->tokens_max = static_cast<size_t>(tokens_max);
  const Json* stop = fields->Find("stop_sequences");
  if (stop == nullptr) return;
  params->stop_texts.clear();
  if (!stop->is_array()) return fields->Fail("stop_sequences", "a list of strings");
  for (const Json& text : *stop) {
    if (!text.is_string()) return fields->Fail("stop_sequences", "a list of strings");
    params->stop_texts.push_back(text.get<std::string>());
  }
  CheckStops(fields, "stop_sequences", params->stop_texts);
}

// Returns the GBNF that the answer's text must match, from `output_config.format` or its older name
// `output_format`; empty if it is free. What it does not enforce is added to `loosened`.
ApiResult<std::string> ReadOutputFormat(const Json& body, Loosened* loosened, GrammarCache* cache) {
  FieldReader fields(body, "");
  const Json* older = fields.Find("output_format");
  const Json* config = fields.Find("output_config");  // an object: ReadThinking checks that
  const Json* format = config == nullptr ? nullptr : FieldReader(*config, "").Find("format");
  if (format != nullptr && older != nullptr) {
    return tl::unexpected(FieldError("output_format", "absent with 'output_config.format'"));
  }
  if (format != nullptr) return ParseAnswerFormat(*format, "output_config.format", loosened, cache);
  if (older == nullptr) return std::string();
  return ParseAnswerFormat(*older, "output_format", loosened, cache);
}

void ReadMessageSampling(FieldReader* fields, SamplingParams* sampling) {
  fields->Number("temperature", 0, kNumberMax, &sampling->temperature);
  fields->Number("top_p", 0, 1, &sampling->top_p);
  int64_t top_k = sampling->top_k;
  fields->Integer("top_k", -1, std::numeric_limits<int32_t>::max(), &top_k);
  sampling->top_k = static_cast<int32_t>(top_k);
}

}  // namespace

ApiResult<Conversation> ParseMessagesConversation(const Json& body, const MediaRules& rules) {
  const Json* messages = FieldReader(body, "").Find("messages");
  if (messages == nullptr || !messages->is_array() || messages->empty()) {
    return tl::unexpected(FieldError("messages", "a list of at least one message"));
  }
  Conversation conversation;
  auto tools = AnthropicTools::Parse(body);
  if (!tools) return tl::unexpected(tools.error());
  MediaReader media(rules);
  const BlockReader from{&media, &*tools};
  auto added = AddSystem(body, from, &conversation.messages);
  for (size_t i = 0; added && i < messages->size(); ++i) {
    added = AddMessage((*messages)[i], ItemPlace("messages", i), from, &conversation);
  }
  if (added) added = AddTools(body, *tools, &conversation);
  if (!added) return tl::unexpected(added.error());
  added = AddMark(body, "", true, &conversation.messages.back().marks);
  if (added) added = CheckMarks(conversation);
  if (!added) return tl::unexpected(added.error());
  FieldReader fields(body, "");
  ReadThinking(&fields, &conversation.reasoning);
  ReadTemplateKwargs(&fields, &conversation);
  if (fields.error()) return tl::unexpected(*fields.error());
  conversation.end = PromptEnd::kUsual;
  auto edits = ParseContextManagement(body);
  if (!edits) return tl::unexpected(edits.error());
  conversation.edits = *std::move(edits);
  return conversation;
}

ApiResult<ChatRequest> ParseMessagesRequest(const Json& body, const GenerationParams& defaults,
                                            const MediaRules& rules, GrammarCache* cache) {
  auto conversation = ParseMessagesConversation(body, rules);
  if (!conversation) return tl::unexpected(conversation.error());
  if (const auto fits = RefuseUnsupported(body, Reference::kMessages); !fits) {
    return tl::unexpected(fits.error());
  }
  ChatRequest request;
  request.conversation = std::move(*conversation);
  request.params = defaults;
  request.reuse = defaults.reuse;
  FieldReader fields(body, "");
  fields.Bool("stream", &request.stream);
  ReadEagerCalls(&fields, &request.eager_calls);
  ReadMessageLimits(&fields, &request.params);
  ReadMessageSampling(&fields, &request.params.sampling);
  ReadThinkingBudgetTokens(&fields, &request.params.reasoning);
  ReadThinkingBudget(&fields, &request.params.reasoning);
  auto grammar = ReadOutputFormat(body, &request.loosened, cache);
  if (!grammar) return tl::unexpected(grammar.error());
  request.grammar = *std::move(grammar);
  request.grammar_is_format = true;
  auto choice = ParseMessagesToolChoice(body);
  if (!choice) return tl::unexpected(choice.error());
  request.tool_choice = std::move(*choice);
  const auto explain = ParseExplain(body);
  if (!explain) return tl::unexpected(explain.error());
  request.options.explain = *explain;
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace cairn
