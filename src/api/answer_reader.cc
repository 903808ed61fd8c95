#include "api/answer_reader.h"

#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

void Add(AnswerPiece piece, WholeAnswer* answer) {
  switch (piece.kind) {
    case AnswerPiece::Kind::kReasoning:
      answer->reasoning += piece.text;
      return;
    case AnswerPiece::Kind::kContent:
      answer->content += piece.text;
      return;
    case AnswerPiece::Kind::kCallBegin:
      answer->calls.push_back({std::move(piece.text), ""});
      return;
    case AnswerPiece::Kind::kCallArguments:
      CHECK(!answer->calls.empty());
      answer->calls.back().arguments += piece.text;
      return;
  }
}

}  // namespace

AnswerReader::AnswerReader(StartedChat chat)
    : generation_(std::move(chat.generation)), parser_(std::move(chat.parser)) {}

std::optional<AnswerStep> AnswerReader::Next() {
  const auto event = generation_->Next(kAnswerWait);
  if (!event) return std::nullopt;
  AnswerStep step;
  if (event->kind == GenerationEvent::Kind::kFailed) {
    step.error = ToApiError(event->error);
    return step;
  }
  if (event->kind == GenerationEvent::Kind::kProgress) {
    step.progress = AnswerProgress{event->processed_tokens, event->cost};
    return step;
  }
  step.pieces = parser_->Push(event->text);
  const bool done = event->kind == GenerationEvent::Kind::kDone;
  if (done) {
    for (AnswerPiece& piece : parser_->Finish()) step.pieces.push_back(std::move(piece));
  }
  for (const AnswerPiece& piece : step.pieces) {
    called_tools_ = called_tools_ || piece.kind == AnswerPiece::Kind::kCallBegin;
  }
  if (done) {
    step.end =
        AnswerEnd{event->reason, event->context_full, event->stop_text, called_tools_, event->cost};
  }
  return step;
}

ApiResult<WholeAnswer> CollectAnswer(StartedChat chat, const std::function<bool()>& gone) {
  AnswerReader reader(std::move(chat));
  WholeAnswer answer;
  while (true) {
    if (gone()) reader.Cancel();
    auto step = reader.Next();
    if (!step) continue;
    if (step->error) return tl::unexpected(*step->error);
    for (AnswerPiece& piece : step->pieces) Add(std::move(piece), &answer);
    if (!step->end) continue;
    answer.end = std::move(*step->end);
    return answer;
  }
}

}  // namespace cairn
