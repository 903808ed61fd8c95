#include "soak/answer.h"

#include <algorithm>
#include <utility>

namespace cairn::soak {
namespace {

const Json& At(const Json& object, const char* name) {
  static const Json kNothing;
  if (!object.is_object()) return kNothing;
  const auto found = object.find(name);
  return found == object.end() ? kNothing : *found;
}

std::string Text(const Json& object, const char* name) {
  const Json& value = At(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

size_t Count(const Json& object, const char* name) {
  const Json& value = At(object, name);
  return value.is_number_unsigned() ? value.get<size_t>() : 0;
}

void AddEntries(const Json& list, std::vector<Json>* entries) {
  if (!list.is_array()) return;
  entries->insert(entries->end(), list.begin(), list.end());
}

// The completions API has a separate list for each field.
void AddLegacyEntries(const Json& lists, std::vector<Json>* entries) {
  const Json& tokens = At(lists, "tokens");
  for (size_t i = 0; i < tokens.size(); ++i) {
    entries->push_back({tokens[i], At(lists, "token_logprobs").at(i),
                        At(lists, "top_logprobs").at(i), At(lists, "text_offset").at(i)});
  }
}

void AddCall(const Json& call, Choice* choice) {
  const Json& function = At(call, "function");
  const std::string name = Text(function, "name");
  if (!name.empty()) choice->calls += name + "(";
  choice->calls += Text(function, "arguments");
}

// Adds a choice of chat/completions or completions, complete or as a delta.
void AddChoice(Api api, const Json& json, Choice* choice) {
  if (api == Api::kText) {
    choice->text += Text(json, "text");
    AddLegacyEntries(At(json, "logprobs"), &choice->logprobs);
  } else {
    const Json& message = At(json, json.contains("delta") ? "delta" : "message");
    choice->text += Text(message, "content");
    choice->reasoning += Text(message, "reasoning_content");
    for (const Json& call : At(message, "tool_calls")) AddCall(call, choice);
    AddEntries(At(At(json, "logprobs"), "content"), &choice->logprobs);
  }
  const std::string finish = Text(json, "finish_reason");
  if (!finish.empty()) choice->finish = finish;
}

void TakeUsage(const Json& usage, Answer* answer) {
  if (!usage.is_object()) return;
  answer->prompt_tokens = Count(usage, "prompt_tokens");
  answer->answer_tokens = Count(usage, "completion_tokens");
  answer->cached_tokens = Count(At(usage, "prompt_tokens_details"), "cached_tokens");
}

// The end of a stream has timings and, unless requested, no usage.
void TakeTimings(const Json& timings, Answer* answer) {
  if (!timings.is_object()) return;
  answer->cached_tokens = Count(timings, "cache_n");
  answer->prompt_tokens = answer->cached_tokens + Count(timings, "prompt_n");
  answer->answer_tokens = Count(timings, "predicted_n");
}

void TakeMessagesUsage(const Json& usage, Answer* answer) {
  if (!usage.is_object()) return;
  answer->cached_tokens = Count(usage, "cache_read_input_tokens");
  answer->prompt_tokens = answer->cached_tokens + Count(usage, "input_tokens") +
                          Count(usage, "cache_creation_input_tokens");
  answer->answer_tokens = Count(usage, "output_tokens");
}

void AddBlock(const Json& block, Choice* choice) {
  const std::string type = Text(block, "type");
  if (type == "text") choice->text += Text(block, "text");
  if (type == "thinking") choice->reasoning += Text(block, "thinking");
  if (type == "tool_use") {
    choice->calls += Text(block, "name") + "(";
    if (!At(block, "input").empty()) choice->calls += At(block, "input").dump();
  }
}

Answer WholeMessages(const Json& json) {
  Answer answer;
  Choice& choice = answer.choices.emplace_back();
  for (const Json& block : At(json, "content")) AddBlock(block, &choice);
  choice.finish = Text(json, "stop_reason");
  TakeMessagesUsage(At(json, "usage"), &answer);
  return answer;
}

// Parses a complete response; the end of its stream has the same form.
Answer WholeResponse(const Json& json) {
  Answer answer;
  Choice& choice = answer.choices.emplace_back();
  for (const Json& item : At(json, "output")) {
    const std::string type = Text(item, "type");
    if (type == "function_call") choice.calls += Text(item, "name") + "(" + Text(item, "arguments");
    for (const Json& part : At(item, "content")) {
      (type == "reasoning" ? choice.reasoning : choice.text) += Text(part, "text");
    }
  }
  choice.finish = Text(json, "status") + Text(At(json, "incomplete_details"), "reason");
  const Json& usage = At(json, "usage");
  answer.prompt_tokens = Count(usage, "input_tokens");
  answer.answer_tokens = Count(usage, "output_tokens");
  answer.cached_tokens = Count(At(usage, "input_tokens_details"), "cached_tokens");
  return answer;
}

Answer WholeNative(const Json& json) {
  Answer answer;
  const std::vector<Json> list =
      json.is_array() ? json.get<std::vector<Json>>() : std::vector<Json>{json};
  for (const Json& one : list) {
    Choice& choice = answer.choices.emplace_back();
    choice.text = Text(one, "content");
    choice.finish = Text(one, "stop_type") + Text(one, "stopping_word");
    AddEntries(At(one, "completion_probabilities"), &choice.logprobs);
    TakeTimings(At(one, "timings"), &answer);
  }
  return answer;
}

Answer WholeChoices(Api api, const Json& json) {
  Answer answer;
  for (const Json& one : At(json, "choices")) {
    AddChoice(api, one, &answer.choices.emplace_back());
  }
  TakeUsage(At(json, "usage"), &answer);
  return answer;
}

std::string Shortened(const std::string& text) {
  constexpr size_t kShownMax = 160;
  return Json(text.size() > kShownMax ? text.substr(0, kShownMax) + "..." : text)
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string Differs(const std::string& what, const std::string& got, const std::string& right) {
  return what + " is " + Shortened(got) + ", right is " + Shortened(right);
}

std::string CompareTexts(const std::string& what, const std::string& got, const std::string& right,
                         bool ended) {
  if (ended ? got == right : right.starts_with(got)) return "";
  return Differs(what, got, right);
}

std::string CompareLogprobs(const std::vector<Json>& got, const std::vector<Json>& right,
                            bool ended) {
  if (got.size() > right.size() || (ended && got.size() != right.size())) {
    return Differs("the number of logprobs", std::to_string(got.size()),
                   std::to_string(right.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == right[i]) continue;
    return Differs("the logprob of token " + std::to_string(i), got[i].dump(), right[i].dump());
  }
  return "";
}

std::string CompareChoices(const Choice& got, const Choice& right, bool ended) {
  std::string wrong = CompareLogprobs(got.logprobs, right.logprobs, ended);
  if (wrong.empty()) wrong = CompareTexts("the reasoning", got.reasoning, right.reasoning, ended);
  if (wrong.empty()) wrong = CompareTexts("the text", got.text, right.text, ended);
  if (wrong.empty()) wrong = CompareTexts("what is called", got.calls, right.calls, ended);
  if (wrong.empty() && ended && got.finish != right.finish) {
    wrong = Differs("the reason of its end", got.finish, right.finish);
  }
  return wrong;
}

}  // namespace

std::string PathOf(Api api) {
  switch (api) {
    case Api::kChat:
      return "/v1/chat/completions";
    case Api::kText:
      return "/v1/completions";
    case Api::kNative:
      return "/completion";
    case Api::kMessages:
      return "/v1/messages";
    case Api::kResponses:
      return "/v1/responses";
  }
  return "";
}

std::optional<Answer> ParseWhole(Api api, const std::string& body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return std::nullopt;
  Answer answer;
  if (api == Api::kMessages) {
    answer = WholeMessages(json);
  } else if (api == Api::kResponses) {
    answer = WholeResponse(json);
  } else if (api == Api::kNative) {
    answer = WholeNative(json);
  } else {
    answer = WholeChoices(api, json);
  }
  const bool whole =
      !answer.choices.empty() && std::all_of(answer.choices.begin(), answer.choices.end(),
                                             [](const Choice& one) { return !one.finish.empty(); });
  if (!whole) return std::nullopt;
  answer.id = Text(json, "id");
  answer.ended = true;
  return answer;
}

Choice& AnswerStream::ChoiceAt(size_t index) {
  constexpr size_t kChoicesMax = 64;
  if (index >= kChoicesMax) {
    complaint_ = "choice number " + std::to_string(index);
    index = 0;
  }
  if (index >= answer_.choices.size()) answer_.choices.resize(index + 1);
  return answer_.choices[index];
}

void AnswerStream::Feed(std::string_view bytes) {
  parser_.Feed(bytes, [this](const SseEvent& event) { Take(event); });
}

void AnswerStream::Take(const SseEvent& event) {
  ++events_;
  if (answer_.ended) complaint_ = "an event behind the end: " + Shortened(event.data);
  if (event.data == "[DONE]") {
    answer_.ended = true;
    return;
  }
  const Json json = Json::parse(event.data, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    complaint_ = "an event that is no JSON object: " + Shortened(event.data);
    return;
  }
  if (!At(json, "error").is_null()) {
    answer_.failure = At(json, "error").dump();
    return;
  }
  if (api_ == Api::kMessages) return TakeMessages(json);
  if (api_ == Api::kResponses) return TakeResponses(json);
  if (api_ == Api::kNative) return TakeNative(json);
  TakeChoices(json);
}

void AnswerStream::TakeChoices(const Json& event) {
  answer_.id = Text(event, "id");
  for (const Json& one : At(event, "choices")) {
    AddChoice(api_, one, &ChoiceAt(Count(one, "index")));
  }
  TakeTimings(At(event, "timings"), &answer_);
}

void AnswerStream::TakeNative(const Json& event) {
  Choice& choice = ChoiceAt(Count(event, "index"));
  choice.text += Text(event, "content");
  AddEntries(At(event, "completion_probabilities"), &choice.logprobs);
  if (At(event, "stop") != Json(true)) return;
  choice.finish = Text(event, "stop_type") + Text(event, "stopping_word");
  TakeTimings(At(event, "timings"), &answer_);
  answer_.ended = std::all_of(answer_.choices.begin(), answer_.choices.end(),
                              [](const Choice& one) { return !one.finish.empty(); });
}

void AnswerStream::TakeMessages(const Json& event) {
  const std::string type = Text(event, "type");
  Choice& choice = ChoiceAt(0);
  if (type == "message_start") answer_.id = Text(At(event, "message"), "id");
  if (type == "content_block_start") AddBlock(At(event, "content_block"), &choice);
  if (type == "content_block_delta") {
    const Json& delta = At(event, "delta");
    choice.text += Text(delta, "text");
    choice.reasoning += Text(delta, "thinking");
    choice.calls += Text(delta, "partial_json");
  }
  if (type == "message_delta") {
    choice.finish = Text(At(event, "delta"), "stop_reason");
    TakeMessagesUsage(At(event, "usage"), &answer_);
  }
  if (type == "message_stop") answer_.ended = true;
}

void AnswerStream::TakeResponses(const Json& event) {
  const std::string type = Text(event, "type");
  Choice& choice = ChoiceAt(0);
  if (type == "response.created") answer_.id = Text(At(event, "response"), "id");
  if (type == "response.output_text.delta") choice.text += Text(event, "delta");
  if (type == "response.reasoning_text.delta") choice.reasoning += Text(event, "delta");
  if (type == "response.output_item.added" && Text(At(event, "item"), "type") == "function_call") {
    choice.calls += Text(At(event, "item"), "name") + "(";
  }
  if (type == "response.function_call_arguments.delta") choice.calls += Text(event, "delta");
  if (type == "response.failed") answer_.failure = At(event, "response").dump();
  if (type != "response.completed" && type != "response.incomplete") return;
  Answer whole = WholeResponse(At(event, "response"));
  choice.finish = whole.choices[0].finish;
  if (choice != whole.choices[0]) {
    complaint_ = Differs("the sum of a stream's pieces", choice.text, whole.choices[0].text);
  }
  whole.id = answer_.id;
  whole.ended = true;
  answer_ = std::move(whole);
}

std::string Compare(const Answer& got, const Answer& right) {
  if (!right.ended) return "the right answer is not whole";
  if (got.choices.size() > right.choices.size() ||
      (got.ended && got.choices.size() != right.choices.size())) {
    return Differs("the number of answers", std::to_string(got.choices.size()),
                   std::to_string(right.choices.size()));
  }
  for (size_t i = 0; i < got.choices.size(); ++i) {
    std::string wrong = CompareChoices(got.choices[i], right.choices[i], got.ended);
    if (!wrong.empty()) return "answer " + std::to_string(i) + ": " + wrong;
  }
  const bool counted = got.ended && got.prompt_tokens > 0;
  if (counted && got.prompt_tokens != right.prompt_tokens) {
    return Differs("the number of prompt tokens", std::to_string(got.prompt_tokens),
                   std::to_string(right.prompt_tokens));
  }
  if (counted && got.answer_tokens != right.answer_tokens) {
    return Differs("the number of answer tokens", std::to_string(got.answer_tokens),
                   std::to_string(right.answer_tokens));
  }
  return "";
}

}  // namespace cairn::soak
