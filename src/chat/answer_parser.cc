#include "chat/answer_parser.h"

#include <utility>

#include "chat/reasoning.h"

namespace cairn {
namespace {

class ReasoningParser final : public AnswerParser {
 public:
  explicit ReasoningParser(bool starts_in_reasoning) : splitter_(starts_in_reasoning) {}

  std::vector<AnswerPiece> Push(std::string_view text) override {
    return ToPieces(splitter_.Push(text));
  }
  std::vector<AnswerPiece> Finish() override { return ToPieces(splitter_.Finish()); }

 private:
  static std::vector<AnswerPiece> ToPieces(std::vector<ReasoningSplitter::Piece> split) {
    std::vector<AnswerPiece> pieces;
    for (ReasoningSplitter::Piece& piece : split) {
      const auto kind =
          piece.reasoning ? AnswerPiece::Kind::kReasoning : AnswerPiece::Kind::kContent;
      pieces.push_back({kind, std::move(piece.text)});
    }
    return pieces;
  }

  ReasoningSplitter splitter_;
};

}  // namespace

std::unique_ptr<AnswerParser> MakeReasoningParser(bool starts_in_reasoning) {
  return std::make_unique<ReasoningParser>(starts_in_reasoning);
}

}  // namespace cairn
