#include "soak/talk.h"

#include <iterator>
#include <utility>

namespace cairn::soak {
namespace {

constexpr size_t kTalksMax = 3;
constexpr size_t kHeaders = 4;

Json Tools() {
  return Json::parse(R"([{"type":"function","function":{"name":"look_up","description":
    "Looks a word up","parameters":{"type":"object","properties":{"word":{"type":"string"}}}}}])");
}

Json ChatBody(const Talk& talk) {
  Json messages = Json::array();
  messages.push_back({{"role", "system"}, {"content", talk.header}});
  for (size_t i = 0; i < talk.turns.size(); ++i) {
    const TalkTurn& turn = talk.turns[i];
    messages.push_back({{"role", "user"}, {"content", turn.asked}});
    if (i + 1 == talk.turns.size()) break;
    Json answer = {{"role", "assistant"}, {"content", turn.answer}};
    if (talk.keeps_reasoning && !turn.reasoning.empty()) {
      answer["reasoning_content"] = turn.reasoning;
    }
    messages.push_back(std::move(answer));
  }
  Json body = {{"messages", std::move(messages)}};
  if (talk.has_tools) body["tools"] = Tools();
  return body;
}

Json MessagesBody(const Talk& talk) {
  Json chat = ChatBody(talk);
  Json& messages = chat["messages"];
  messages.erase(messages.begin());
  for (Json& message : messages) {
    if (!message.contains("reasoning_content")) continue;
    message["content"] =
        Json::array({{{"type", "thinking"}, {"thinking", message["reasoning_content"]}},
                     {{"type", "text"}, {"text", message["content"]}}});
    message.erase("reasoning_content");
  }
  Json header = {{"type", "text"}, {"text", talk.header}};
  header["cache_control"]["type"] = "ephemeral";
  Json body;
  body["system"].push_back(std::move(header));
  body["messages"] = std::move(messages);
  return body;
}

Json ResponsesBody(const Talk& talk) {
  Json input = Json::array();
  const Json chat = ChatBody(talk);  // a named value: a temporary would end before the loop
  for (const Json& message : chat["messages"]) {
    if (message["role"] == "system") continue;
    if (message.contains("reasoning_content")) {
      Json reasoning = {{"type", "reasoning"}};
      reasoning["content"].push_back(
          {{"type", "reasoning_text"}, {"text", message["reasoning_content"]}});
      input.push_back(std::move(reasoning));
    }
    input.push_back({{"role", message["role"]}, {"content", message["content"]}});
  }
  return {{"instructions", talk.header}, {"input", std::move(input)}};
}

Json PromptBody(const Talk& talk) {
  std::string prompt = talk.header;
  for (const TalkTurn& turn : talk.turns) prompt += "\n> " + turn.asked + "\n" + turn.answer;
  return {{"prompt", prompt}};
}

}  // namespace

size_t Talk::bytes() const {
  size_t sum = header.size();
  for (const TalkTurn& turn : turns) {
    sum += turn.asked.size() + turn.answer.size() + turn.reasoning.size() + 60;
  }
  return sum;
}

Json BodyOf(const Talk& talk) {
  switch (talk.api) {
    case Api::kChat:
      return ChatBody(talk);
    case Api::kText:
    case Api::kNative:
      return PromptBody(talk);
    case Api::kMessages:
      return MessagesBody(talk);
    case Api::kResponses:
      return ResponsesBody(talk);
  }
  return {};
}

Talker::Talker(TalkerOptions options)
    : options_(std::move(options)), dice_(options_.seed, options_.name) {
  BeginTalk();
}

void Talker::BeginTalk() {
  Talk talk;
  talk.api = dice_.Number(3) == 0 ? kApis[dice_.Number(std::size(kApis))] : Api::kChat;
  SeededText common(options_.header_seed, "header " + std::to_string(dice_.Number(kHeaders)));
  SeededText own(dice_.Number(UINT64_MAX), "own header");
  SeededText& words = dice_.Number(2) == 0 ? common : own;
  talk.header = words.Prose(100 + words.Number(500));
  talk.keeps_reasoning = dice_.Number(3) == 0;
  talk.has_tools = talk.api == Api::kChat && dice_.Number(8) == 0;
  current_ = talks_.size() < kTalksMax ? talks_.size() : dice_.Number(kTalksMax);
  if (current_ == talks_.size()) talks_.emplace_back();
  talks_[current_] = std::move(talk);
}

void Talker::Step() {
  const uint64_t step = dice_.Number(100);
  if (step < 15) current_ = dice_.Number(talks_.size());
  Talk* talk = &talks_[current_];
  if (step >= 92 || (talk->bytes() > options_.bytes_max && dice_.Number(8) != 0)) {
    BeginTalk();
    talk = &talks_[current_];
  }
  if (step >= 84 && step < 92 && !talk->turns.empty()) {  // removes turns
    talk->turns.resize(dice_.Number(talk->turns.size()));
  }
  if (step >= 78 && step < 84) talk->keeps_reasoning = !talk->keeps_reasoning;
  if (step >= 74 && step < 78 && !talk->turns.empty()) {  // edits one of the answers
    talk->turns[dice_.Number(talk->turns.size())].answer += " and so on";
  }
  if (step >= 66 && step < 74 && !talk->turns.empty()) {  // rewords the last question
    talk->turns.back().asked = dice_.Prose(20 + dice_.Number(200));
    talk->turns.back().answer.clear();
    return;
  }
  talk->turns.push_back({dice_.Prose(10 + dice_.Number(300)), "", ""});
}

void Talker::AddLimits(Json* body) {
  const Api api = talks_[current_].api;
  const uint64_t tokens = dice_.Number(30) == 0 ? 0 : 1 + dice_.Number(20);
  (*body)[api == Api::kResponses ? "max_output_tokens" : "max_tokens"] = tokens;
}

void Talker::AddSampling(Json* body) {
  const Api api = talks_[current_].api;
  const bool greedy = dice_.Number(5) < 3;
  (*body)["temperature"] = greedy ? 0 : 0.8;
  if (api == Api::kMessages || api == Api::kResponses) return;
  (*body)["seed"] = dice_.Number(1000);
  if (dice_.Number(8) == 0) (*body)["repeat_penalty"] = 1.3;
  if (dice_.Number(8) == 0) (*body)["presence_penalty"] = 0.5;
  if (dice_.Number(12) == 0) (*body)["mirostat"] = 2;
}

void Talker::AddExtras(Json* body) {
  const Api api = talks_[current_].api;
  if (api == Api::kMessages || api == Api::kResponses) return;
  if (dice_.Number(2) == 0) {
    const uint64_t top = dice_.Number(4);
    if (api == Api::kChat) (*body)["logprobs"] = true;
    if (api == Api::kChat) (*body)["top_logprobs"] = top;
    if (api == Api::kText) (*body)["logprobs"] = top;
    if (api == Api::kNative) (*body)["n_probs"] = 1 + top;
  }
  if (dice_.Number(8) == 0) (*body)["stop"] = Json::array({"e", "Xq"});
  if (dice_.Number(14) == 0) (*body)["grammar"] = "root ::= [a-z]+ \" \" [A-Z] [a-z]*";
  if (api != Api::kNative && dice_.Number(14) == 0) (*body)["n"] = 2;
  if (dice_.Number(20) == 0) (*body)["cairn"] = {{"explain", true}};
}

Question Talker::Next() {
  if (!last_.body.is_null() && dice_.Number(9) == 0) return last_;  // repeats the last question
  Step();
  last_.api = talks_[current_].api;
  last_.body = BodyOf(talks_[current_]);
  AddLimits(&last_.body);
  AddSampling(&last_.body);
  AddExtras(&last_.body);
  return last_;
}

Manner Talker::NextManner() {
  Manner manner;
  manner.streamed = dice_.Number(2) == 0;
  if (dice_.Number(10) == 0) {
    manner.streamed = true;
    manner.events_max = 1 + dice_.Number(8);
    manner.cancels = dice_.Number(2) == 0;
  } else if (!manner.streamed && dice_.Number(20) == 0) {
    manner.timeout_ms = 1 + static_cast<int>(dice_.Number(40));
  }
  return manner;
}

void Talker::Heard(const Choice& choice) {
  Talk& talk = talks_[current_];
  if (talk.turns.empty()) return;
  talk.turns.back().answer = choice.text;
  talk.turns.back().reasoning = choice.reasoning;
  if (dice_.Number(3) == 0) talk.turns.back().reasoning += dice_.Prose(20 + dice_.Number(100));
}

}  // namespace cairn::soak
