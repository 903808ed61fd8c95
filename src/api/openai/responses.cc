#include "api/openai/responses.h"

#include <utility>

#include "api/answer/cost_json.h"
#include "api/openai/response_items.h"
#include "chat/calls/calls_json.h"
#include "chat/text/limited_json.h"

namespace cairn {
namespace {

constexpr const char* kFunctionCall = "function_call";
constexpr const char* kCustomToolCall = "custom_tool_call";
constexpr const char* kToolSearchCall = "tool_search_call";

Json ResponseUsage(const GenerationCost& cost) {
  return {{"input_tokens", cost.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", cost.reused_tokens}}},
          {"output_tokens", cost.generated_tokens},
          {"output_tokens_details", {{"reasoning_tokens", cost.reasoning_tokens}}},
          {"total_tokens", cost.prompt_tokens + cost.generated_tokens}};
}

Json Begun(const AnswerIdentity& identity) {
  return {{"id", identity.id},
          {"object", "response"},
          {"created_at", identity.created_unix_s},
          {"status", "in_progress"},
          {"error", nullptr},
          {"incomplete_details", nullptr},
          {"instructions", nullptr},
          {"metadata", Json::object()},
          {"model", identity.model},
          {"output", Json::array()},
          {"parallel_tool_calls", true},
          {"previous_response_id", nullptr},
          {"store", false},
          {"text", {{"format", {{"type", "text"}}}}},
          {"tool_choice", "auto"},
          {"tools", Json::array()},
          {"usage", nullptr}};
}

std::string TypeOf(const Json& item) {
  return item.is_null() ? "" : item["type"].get<std::string>();
}

// Returns the content part of an item.
Json ContentPart(const std::string& item_type, const std::string& text) {
  if (item_type == "reasoning") return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", Json::array()},
          {"logprobs", Json::array()}};
}

std::string TextEvent(const std::string& item_type) {
  if (item_type == kCustomToolCall) return "response.custom_tool_call_input";
  if (item_type == kFunctionCall) return "response.function_call_arguments";
  return item_type == "reasoning" ? "response.reasoning_text" : "response.output_text";
}

bool IsCallItem(const Json& item) {
  const std::string type = TypeOf(item);
  return type == kFunctionCall || type == kCustomToolCall || type == kToolSearchCall;
}

// Returns the item of a call that begins. `number` makes its ids.
Json NewCall(const ResponseTool& tool, const std::string& number, const AnswerDelta& piece) {
  const std::string id = piece.id.empty() ? "call_" + number : piece.id;
  if (tool.kind == ResponseTool::Kind::kSearch) {
    return {{"id", "tsc_" + number}, {"type", kToolSearchCall}, {"status", "in_progress"},
            {"execution", "client"}, {"call_id", id},           {"arguments", Json::object()}};
  }
  const bool custom = tool.kind == ResponseTool::Kind::kCustom;
  Json item = {{"id", (custom ? "ctc_" : "fc_") + number},
               {"type", custom ? kCustomToolCall : kFunctionCall},
               {"status", "in_progress"},
               {"call_id", id},
               {"name", piece.text}};
  item[custom ? "input" : "arguments"] = "";
  if (!tool.name_space.empty()) item["namespace"] = tool.name_space;
  return item;
}

}  // namespace

ResponseStream::ResponseStream(StartedChat chat, const AnswerIdentity& identity,
                               ResponseTools tools, ResponseContext context)
    : record_(chat.record),
      reader_(std::move(chat)),
      tools_(std::move(tools)),
      number_(ResponseNumber(identity.id)),
      on_end_(std::move(context.on_end)),
      tells_progress_(context.options.progress),
      tells_timings_(context.options.timings_per_token),
      response_(Begun(identity)) {
  response_["store"] = on_end_ != nullptr;
  response_.update(context.repeated);
}

bool ResponseStream::Next(std::string* chunk) {
  if (!begun_) {
    begun_ = true;
    EmitResponse("response.created", chunk);
    EmitResponse("response.in_progress", chunk);
    return true;
  }
  const auto step = reader_.Next();
  if (!step) return true;
  if (step->error) {
    error_ = step->error;
    response_["status"] = "failed";
    response_["error"] = {{"code", step->error->type}, {"message", step->error->message}};
    EmitResponse("response.failed", chunk);
    return false;
  }
  if (step->progress && tells_progress_) EmitProgress(*step->progress, chunk);
  for (const AnswerDelta& piece : step->pieces) AppendPiece(piece, step->cost, chunk);
  if (!step->end) return true;
  End(*step->end, chunk);
  return false;
}

ApiResult<std::string> ResponseStream::Whole() const {
  if (error_) return tl::unexpected(*error_);
  return ToText(response_);
}

void ResponseStream::Emit(const std::string& type, const Json& fields, std::string* chunk) {
  Json event = {{"type", type}, {"sequence_number", sequence_++}};
  event.update(fields);
  *chunk += "event: " + type + "\ndata: " + ToText(event) + "\n\n";
}

void ResponseStream::EmitResponse(const std::string& type, std::string* chunk) {
  Json fields;
  fields["response"] = response_;
  Emit(type, fields, chunk);
}

void ResponseStream::EmitInItem(const std::string& event, const Json& fields, std::string* chunk) {
  Json placed = {{"item_id", item_["id"]}, {"output_index", response_["output"].size()}};
  if (item_.contains("content")) placed["content_index"] = 0;
  placed.update(fields);
  Emit(event, placed, chunk);
}

void ResponseStream::EmitProgress(const AnswerProgress& progress, std::string* chunk) {
  Json fields;
  fields["response"] = response_;
  AddProgress(progress.processed_tokens, progress.cost, tells_timings_, &fields);
  Emit("response.in_progress", fields, chunk);
}

void ResponseStream::AppendPiece(const AnswerDelta& piece, const GenerationCost& cost,
                                 std::string* chunk) {
  switch (piece.kind) {
    case AnswerDelta::Kind::kCallBegin:
      return OpenItem(kFunctionCall, piece, chunk);
    case AnswerDelta::Kind::kReasoning:
      if (TypeOf(item_) != "reasoning") OpenItem("reasoning", piece, chunk);
      break;
    case AnswerDelta::Kind::kContent:
      if (TypeOf(item_) != "message") OpenItem("message", piece, chunk);
      break;
    case AnswerDelta::Kind::kCallArguments:
      break;
  }
  text_ += piece.text;
  // Other calls are shown as what their arguments say, once these are complete.
  if (piece.kind == AnswerDelta::Kind::kCallArguments && TypeOf(item_) != kFunctionCall) return;
  Json fields = {{"delta", piece.text}};
  if (piece.kind == AnswerDelta::Kind::kContent) fields["logprobs"] = Json::array();
  if (tells_timings_) fields["timings"] = TimingsJson(cost);
  EmitInItem(TextEvent(TypeOf(item_)) + ".delta", fields, chunk);
}

void ResponseStream::OpenItem(const std::string& type, const AnswerDelta& piece,
                              std::string* chunk) {
  CloseItem("completed", chunk);
  const size_t index = response_["output"].size();
  const std::string number = number_ + "-" + std::to_string(index);
  if (type == kFunctionCall) {
    const auto found = tools_.find(piece.text);
    const ResponseTool tool = found == tools_.end() ? ResponseTool() : found->second;
    item_ = NewCall(tool, number, piece);
  } else if (type == "reasoning") {
    item_ = {{"id", "rs_" + number},
             {"type", type},
             {"status", "in_progress"},
             {"summary", Json::array()},
             {"content", Json::array()}};
  } else {
    item_ = {{"id", "msg_" + number},
             {"type", type},
             {"status", "in_progress"},
             {"role", "assistant"},
             {"content", Json::array()}};
  }
  Emit("response.output_item.added", {{"output_index", index}, {"item", item_}}, chunk);
  if (!item_.contains("content")) return;
  Json fields;
  fields["part"] = ContentPart(type, "");
  EmitInItem("response.content_part.added", fields, chunk);
}

void ResponseStream::CloseItem(const std::string& status, std::string* chunk) {
  if (item_.is_null()) return;
  const std::string type = TypeOf(item_);
  // An incomplete call must not be executed.
  const bool broken = IsCallItem(item_) && !IsJsonObject(text_);
  item_["status"] = broken ? "incomplete" : status;
  Json fields;
  if (IsCallItem(item_)) {
    CloseCall(chunk);
  } else {
    fields["text"] = text_;
    if (type == "message") fields["logprobs"] = Json::array();
    EmitInItem(TextEvent(type) + ".done", fields, chunk);
    Json part;
    part["part"] = ContentPart(type, text_);
    item_["content"].push_back(part["part"]);
    EmitInItem("response.content_part.done", part, chunk);
  }
  Emit("response.output_item.done", {{"output_index", response_["output"].size()}, {"item", item_}},
       chunk);
  response_["output"].push_back(std::exchange(item_, nullptr));
  text_.clear();
}

void ResponseStream::CloseCall(std::string* chunk) {
  const std::string type = TypeOf(item_);
  if (type == kFunctionCall) {
    item_["arguments"] = text_;
    const Json fields = {{"name", item_["name"]}, {"arguments", text_}};
    return EmitInItem(TextEvent(type) + ".done", fields, chunk);
  }
  const auto parsed = ParseLimitedJson(text_, "arguments");
  const bool object = parsed && parsed->is_object();
  if (type == kToolSearchCall) {
    if (object) item_["arguments"] = *parsed;
    return;
  }
  const Json input = object ? parsed->value("input", Json()) : Json();
  // A model that wrote no such argument, or half of one: the client gets what it wrote.
  item_["input"] = input.is_string() ? input.text() : text_;
  EmitInItem(TextEvent(type) + ".delta", {{"delta", item_["input"]}}, chunk);
  EmitInItem(TextEvent(type) + ".done", {{"input", item_["input"]}}, chunk);
}

void ResponseStream::End(const AnswerEnd& end, std::string* chunk) {
  const std::string status = end.cut_off() ? "incomplete" : "completed";
  CloseItem(status, chunk);
  response_["status"] = end.cancelled() ? "cancelled" : status;
  if (status == "incomplete" && !end.cancelled()) {
    response_["incomplete_details"]["reason"] = "max_output_tokens";
  }
  response_["usage"] = ResponseUsage(end.cost);
  if (on_end_) on_end_(response_);
  AddExplanation(record_, &response_);
  Json fields;
  fields["response"] = response_;
  if (tells_timings_) fields["timings"] = TimingsJson(end.cost);
  Emit("response." + status, fields, chunk);
}

ApiResult<std::string> CollectResponse(StartedChat chat, const AnswerIdentity& identity,
                                       ResponseTools tools, const std::function<bool()>& gone,
                                       ResponseContext context) {
  ResponseStream stream(std::move(chat), identity, std::move(tools), std::move(context));
  std::string events;  // these events are not sent; only the response is used
  while (stream.Next(&events)) {
    events.clear();
    if (gone()) stream.Abandon();
  }
  return stream.Whole();
}

}  // namespace cairn
