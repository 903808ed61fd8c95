#include "chat/parse/shown_reasoning.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Kind = AnswerDelta::Kind;

class PlainParser final : public AnswerParser {
 public:
  std::vector<AnswerDelta> Push(std::string_view text) override {
    if (text.empty()) return {};
    return {{Kind::kContent, std::string(text)}};
  }
  std::vector<AnswerDelta> Finish() override { return {}; }
};

// Puts the reasoning that another parser finds into the content.
class TagsInContent final : public AnswerParser {
 public:
  TagsInContent(ShownReasoning shown, const AnswerFormat& format,
                std::unique_ptr<AnswerParser> parser)
      : keeps_apart_(shown == ShownReasoning::kBoth),
        tags_(format.reasoning),
        prompt_opens_(format.starts_in_reasoning),
        parser_(std::move(parser)) {}

  std::vector<AnswerDelta> Push(std::string_view text) override {
    return Show(parser_->Push(text));
  }
  std::vector<AnswerDelta> Finish() override { return Show(parser_->Finish()); }
  size_t broken_calls() const override { return parser_->broken_calls(); }
  size_t mended_calls() const override { return parser_->mended_calls(); }

 private:
  std::vector<AnswerDelta> Show(std::vector<AnswerDelta> found) {
    std::vector<AnswerDelta> shown;
    for (AnswerDelta& delta : found) {
      const bool reasons = delta.kind == Kind::kReasoning;
      if (reasons && !inside_ && !std::exchange(prompt_opens_, false)) {
        shown.push_back({Kind::kContent, tags_.open + "\n"});
      }
      if (!reasons && inside_) shown.push_back({Kind::kContent, "\n" + tags_.close + "\n\n"});
      inside_ = reasons;
      if (reasons) shown.push_back({Kind::kContent, delta.text});
      if (!reasons || keeps_apart_) shown.push_back(std::move(delta));
    }
    return shown;
  }

  const bool keeps_apart_;
  const ReasoningTags tags_;
  bool prompt_opens_;  // the next reasoning has its opening tag in the prompt
  const std::unique_ptr<AnswerParser> parser_;
  bool inside_ = false;
};

}  // namespace

std::optional<ShownReasoning> ParseShownReasoning(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, ShownReasoning>, 4> kNames = {{
      {"auto", ShownReasoning::kApart},
      {"deepseek", ShownReasoning::kApart},
      {"none", ShownReasoning::kInContent},
      {"deepseek-legacy", ShownReasoning::kBoth},
  }};
  for (const auto& [known, shown] : kNames) {
    if (known == name) return shown;
  }
  return std::nullopt;
}

std::unique_ptr<AnswerParser> ShowReasoning(ShownReasoning shown, const AnswerFormat& format,
                                            std::unique_ptr<AnswerParser> parser) {
  if (shown == ShownReasoning::kApart) return parser;
  return std::make_unique<TagsInContent>(shown, format, std::move(parser));
}

std::unique_ptr<AnswerParser> MakePlainParser() {
  return std::make_unique<PlainParser>();
}

}  // namespace cairn
