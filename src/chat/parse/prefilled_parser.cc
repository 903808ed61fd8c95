#include "chat/parse/prefilled_parser.h"

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chat/text/held_text.h"

namespace cairn {
namespace {

bool IsCall(const AnswerDelta& piece) {
  return piece.kind == AnswerDelta::Kind::kCallBegin ||
         piece.kind == AnswerDelta::Kind::kCallArguments;
}

class PrefilledParser final : public AnswerParser {
 public:
  PrefilledParser(const AnswerFormat& format, std::string_view prefilled)
      : parser_(MakeAnswerParser(format)), pending_(OpenCall(parser_->Push(prefilled))) {
    // A second parser, which gets more text, reveals what this one holds back of the prefilled
    // text.
    constexpr std::string_view kProbe = "x";
    const auto other = MakeAnswerParser(format);
    other->Push(prefilled);
    std::string held;
    for (const auto& pieces : {other->Push(kProbe), other->Finish()}) {
      for (const AnswerDelta& piece : pieces) {
        if (!IsCall(piece)) held += piece.text;
      }
    }
    const bool in_call = !held.ends_with(kProbe);
    if (!in_call) held.resize(held.size() - kProbe.size());
    held_.Append(held);
    if (!in_call) pending_.clear();
    if (!pending_.empty()) first_call_ = pending_.front().call;
  }

  std::vector<AnswerDelta> Push(std::string_view text) override {
    return Fresh(parser_->Push(text));
  }
  std::vector<AnswerDelta> Finish() override { return Fresh(parser_->Finish()); }
  size_t broken_calls() const override { return parser_->broken_calls(); }
  size_t mended_calls() const override { return parser_->mended_calls(); }

 private:
  // Returns the deltas of the call that the text ends in or with; none if it ends otherwise.
  static std::vector<AnswerDelta> OpenCall(std::vector<AnswerDelta> pieces) {
    size_t begin = pieces.size();
    while (begin > 0 && IsCall(pieces[begin - 1])) {
      --begin;
      if (pieces[begin].kind == AnswerDelta::Kind::kCallBegin) break;
    }
    return {std::make_move_iterator(pieces.begin() + static_cast<std::ptrdiff_t>(begin)),
            std::make_move_iterator(pieces.end())};
  }

  std::vector<AnswerDelta> Fresh(std::vector<AnswerDelta> pieces) {
    std::vector<AnswerDelta> fresh = std::exchange(pending_, {});
    for (AnswerDelta& piece : pieces) {
      if (IsCall(piece)) {
        // Clients count the calls that they receive.
        if (!first_call_) first_call_ = piece.call;
        held_.Drop(held_.size());
      } else if (!held_.empty() && !DropHeld(&piece.text)) {
        continue;
      }
      fresh.push_back(std::move(piece));
    }
    for (AnswerDelta& piece : fresh) {
      if (IsCall(piece)) piece.call -= *first_call_;
    }
    return fresh;
  }

  // Removes held-back prefilled text from the delta; returns false if nothing is left.
  bool DropHeld(std::string* text) {
    if (text->starts_with(held_.view())) {
      text->erase(0, held_.size());
      held_.Drop(held_.size());
    } else if (held_.view().starts_with(*text)) {
      held_.Drop(text->size());
      text->clear();
    } else {
      held_.Drop(held_.size());  // it was dropped
    }
    return !text->empty();
  }

  const std::unique_ptr<AnswerParser> parser_;
  std::vector<AnswerDelta> pending_;
  HeldText held_;
  std::optional<size_t> first_call_;
};

}  // namespace

std::unique_ptr<AnswerParser> MakePrefilledParser(const AnswerFormat& format,
                                                  std::string_view prefilled) {
  if (prefilled.empty()) return MakeAnswerParser(format);
  return std::make_unique<PrefilledParser>(format, prefilled);
}

}  // namespace cairn
