#include "api/answer/answer_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

void AddPiece(AnswerDelta piece, WholeAnswer* answer) {
  switch (piece.kind) {
    case AnswerDelta::Kind::kReasoning:
      answer->reasoning += piece.text;
      return;
    case AnswerDelta::Kind::kContent:
      answer->content += piece.text;
      return;
    case AnswerDelta::Kind::kCallBegin:
      answer->calls.push_back({std::move(piece.text), "", std::move(piece.id)});
      return;
    case AnswerDelta::Kind::kCallArguments:
      CHECK(!answer->calls.empty());
      answer->calls.back().arguments += piece.text;
      return;
  }
}

}  // namespace

ApiResult<std::optional<GenerationEvent>> NextEvent(Generation* generation) {
  auto event = generation->Next(kAnswerWait);
  if (!event) return std::nullopt;
  const auto failure = generation->FailureOf(*event);
  if (!failure) return event;
  generation->Abandon();
  return tl::unexpected(ToApiError(*failure));
}

std::optional<ApiError> FailureBeforeAnswer(Generation* generation, double wait_ms,
                                            const std::function<bool()>& gone) {
  const auto wait = std::chrono::duration<double, std::milli>(wait_ms);
  const auto begin = std::chrono::steady_clock::now();
  std::optional<GenerationEvent::Kind> first;
  while (!first && std::chrono::steady_clock::now() - begin < wait && !gone()) {
    first = generation->AwaitKind(kAnswerWait);
  }
  if (first != GenerationEvent::Kind::kFailed) return std::nullopt;
  const auto failed = NextEvent(generation);
  return failed ? std::nullopt : std::optional(failed.error());
}

AnswerReader::AnswerReader(StartedChat chat)
    : generation_(std::move(chat.generation)),
      log_(std::move(chat.log)),
      on_call_(std::move(chat.on_call)) {
  answers_.push_back({std::move(chat.parser)});
  for (auto& parser : chat.other_parsers) answers_.push_back({std::move(parser)});
}

std::optional<AnswerStep> AnswerReader::Next() {
  auto next = NextEvent(generation_.get());
  AnswerStep step;
  if (!next) {
    step.error = next.error();
    return step;
  }
  auto& event = *next;
  if (!event) return std::nullopt;
  step.answer = event->answer;
  if (event->kind == GenerationEvent::Kind::kProgress) {
    step.progress = AnswerProgress{event->processed_tokens, event->cost};
    return step;
  }
  Reading& reading = answers_.at(step.answer);
  step.pieces = reading.parser->Push(event->text);
  step.logprobs = std::move(event->logprobs);
  step.tokens = std::move(event->tokens);
  step.cost = event->cost;
  const bool done = event->kind == GenerationEvent::Kind::kDone;
  if (done) {
    for (AnswerDelta& piece : reading.parser->Finish()) step.pieces.push_back(std::move(piece));
  }
  NoteCalls(step, &reading);
  if (!done) return step;
  EndCall(&reading);
  LogOddCalls(*reading.parser);
  step.end = AnswerEnd{event->reason, event->context_full, event->stop_text, reading.called_tools,
                       event->cost};
  step.all_ended = ++ended_ == answers_.size();
  return step;
}

void AnswerReader::NoteCalls(const AnswerStep& step, Reading* reading) const {
  for (const AnswerDelta& piece : step.pieces) {
    if (piece.kind == AnswerDelta::Kind::kCallBegin) {
      EndCall(reading);
      reading->called_tools = true;
      reading->call_name = piece.text;
    } else if (piece.kind == AnswerDelta::Kind::kCallArguments && on_call_) {
      reading->call_arguments += piece.text;
    }
  }
}

void AnswerReader::EndCall(Reading* reading) const {
  if (on_call_ && !reading->call_name.empty()) {
    on_call_(reading->call_name, reading->call_arguments);
  }
  reading->call_name.clear();
  reading->call_arguments.clear();
}

void AnswerReader::LogOddCalls(const AnswerParser& parser) const {
  if (!log_) return;
  if (parser.broken_calls() > 0) {
    log_(LogLevel::kWarning,
         "an answer has " + std::to_string(parser.broken_calls()) +
             " texts that begin like a tool call but are invalid or incomplete; "
             "they were sent as text");
  }
  if (parser.mended_calls() > 0) {
    log_(LogLevel::kInfo, "an answer has " + std::to_string(parser.mended_calls()) +
                              " tool calls that deviate from the template's syntax; they were "
                              "sent as the calls that they plainly mean");
  }
}

ApiResult<std::vector<WholeAnswer>> CollectAnswers(StartedChat chat,
                                                   const std::function<bool()>& gone) {
  AnswerReader reader(std::move(chat));
  std::vector<WholeAnswer> answers(reader.answers());
  while (true) {
    if (gone()) reader.Abandon();
    auto step = reader.Next();
    if (!step) continue;
    if (step->error) return tl::unexpected(*step->error);
    WholeAnswer& answer = answers.at(step->answer);
    for (AnswerDelta& piece : step->pieces) AddPiece(std::move(piece), &answer);
    std::move(step->logprobs.begin(), step->logprobs.end(), std::back_inserter(answer.logprobs));
    answer.tokens.insert(answer.tokens.end(), step->tokens.begin(), step->tokens.end());
    if (step->end) answer.end = std::move(*step->end);
    if (step->all_ended) return answers;
  }
}

ApiResult<WholeAnswer> CollectAnswer(StartedChat chat, const std::function<bool()>& gone) {
  auto answers = CollectAnswers(std::move(chat), gone);
  if (!answers) return tl::unexpected(answers.error());
  return std::move(answers->front());
}

}  // namespace cairn
