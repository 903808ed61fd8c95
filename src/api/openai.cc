#include "api/openai.h"

#include <chrono>
#include <utility>
#include <vector>

#include "api/json.h"

namespace cairn {
namespace {

using Pieces = std::vector<ReasoningSplitter::Piece>;

// Long enough to cost nothing, short enough that a client that went away is noticed soon.
constexpr std::chrono::milliseconds kWait{100};

std::string FinishReasonName(FinishReason reason) {
  return reason == FinishReason::kLength ? "length" : "stop";
}

double Per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

Json Timings(const GenerationCost& cost) {
  const auto read = static_cast<double>(cost.read_tokens());
  const auto generated = static_cast<double>(cost.generated_tokens);
  return {{"cache_n", cost.reused_tokens},
          {"prompt_n", cost.read_tokens()},
          {"prompt_ms", cost.prompt_ms},
          {"prompt_per_token_ms", Per(cost.prompt_ms, read)},
          {"prompt_per_second", Per(read * 1000, cost.prompt_ms)},
          {"predicted_n", cost.generated_tokens},
          {"predicted_ms", cost.generated_ms},
          {"predicted_per_token_ms", Per(cost.generated_ms, generated)},
          {"predicted_per_second", Per(generated * 1000, cost.generated_ms)}};
}

Json Usage(const GenerationCost& cost) {
  return {{"prompt_tokens", cost.prompt_tokens},
          {"completion_tokens", cost.generated_tokens},
          {"total_tokens", cost.prompt_tokens + cost.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", cost.reused_tokens}}}};
}

Json Envelope(const AnswerIdentity& identity, std::string_view object) {
  return {{"id", identity.id},
          {"object", object},
          {"created", identity.created_unix_s},
          {"model", identity.model}};
}

Json Chunk(const AnswerIdentity& identity, Json delta, Json finish_reason) {
  Json chunk = Envelope(identity, "chat.completion.chunk");
  chunk["choices"] = Json::array(
      {{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish_reason)}}});
  return chunk;
}

void AppendEvent(const Json& json, std::string* chunk) {
  *chunk += "data: " + ToText(json) + "\n\n";
}

}  // namespace

ApiResult<std::string> CollectChat(const StartedChat& chat, const AnswerIdentity& identity,
                                   const std::function<bool()>& gone) {
  ReasoningSplitter splitter(chat.starts_in_reasoning);
  std::string content;
  std::string reasoning;
  const auto take = [&](const Pieces& pieces) {
    for (const auto& piece : pieces) (piece.reasoning ? reasoning : content) += piece.text;
  };
  while (true) {
    if (gone()) chat.generation->Cancel();
    const auto event = chat.generation->Next(kWait);
    if (!event) continue;
    if (event->kind == GenerationEvent::Kind::kFailed) {
      return tl::unexpected(ToApiError(event->error));
    }
    take(splitter.Push(event->text));
    if (event->kind != GenerationEvent::Kind::kDone) continue;
    take(splitter.Finish());
    Json message = {{"role", "assistant"}, {"content", content}};
    if (!reasoning.empty()) message["reasoning_content"] = reasoning;
    Json answer = Envelope(identity, "chat.completion");
    answer["choices"] = Json::array({{{"index", 0},
                                      {"message", std::move(message)},
                                      {"finish_reason", FinishReasonName(event->reason)}}});
    answer["usage"] = Usage(event->cost);
    answer["timings"] = Timings(event->cost);
    return ToText(answer);
  }
}

ChatStream::ChatStream(StartedChat chat, AnswerIdentity identity, bool include_usage)
    : chat_(std::move(chat)),
      identity_(std::move(identity)),
      include_usage_(include_usage),
      splitter_(chat_.starts_in_reasoning) {}

bool ChatStream::Next(std::string* chunk) {
  const auto event = chat_.generation->Next(kWait);
  if (!event) return true;
  if (event->kind == GenerationEvent::Kind::kFailed) {
    *chunk += "data: " + ErrorBody(ToApiError(event->error)) + "\n\n";
    return false;
  }
  if (!begun_) {
    begun_ = true;
    AppendEvent(Chunk(identity_, {{"role", "assistant"}, {"content", nullptr}}, nullptr), chunk);
  }
  AppendPieces(splitter_.Push(event->text), chunk);
  if (event->kind != GenerationEvent::Kind::kDone) return true;
  AppendPieces(splitter_.Finish(), chunk);
  AppendEnd(*event, chunk);
  return false;
}

void ChatStream::AppendPieces(const Pieces& pieces, std::string* chunk) const {
  for (const auto& piece : pieces) {
    const char* name = piece.reasoning ? "reasoning_content" : "content";
    AppendEvent(Chunk(identity_, {{name, piece.text}}, nullptr), chunk);
  }
}

void ChatStream::AppendEnd(const GenerationEvent& event, std::string* chunk) const {
  Json finish = Chunk(identity_, Json::object(), FinishReasonName(event.reason));
  if (!include_usage_) finish["timings"] = Timings(event.cost);
  AppendEvent(finish, chunk);
  if (include_usage_) {
    Json usage = Envelope(identity_, "chat.completion.chunk");
    usage["choices"] = Json::array();
    usage["usage"] = Usage(event.cost);
    usage["timings"] = Timings(event.cost);
    AppendEvent(usage, chunk);
  }
  *chunk += "data: [DONE]\n\n";
}

}  // namespace cairn
