#include "chat/spans/prompt_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace cairn {
namespace {

// Reads literals and media off a rendering.
class OriginReader {
 public:
  OriginReader(const RenderedText& rendered, const SpecialTexts& specials,
               const Conversation& conversation, PromptText* prompt)
      : rendered_(rendered), specials_(specials), conversation_(conversation), prompt_(*prompt) {}

  void Read() {
    for (size_t i = 0; i < rendered_.runs.size(); ++i) {
      const jinja::Run& run = rendered_.runs[i];
      const TextSource* const source = rendered_.SourceOf(run);
      if (source != nullptr && source->field == TextField::kOwn) {
        AddLiterals(run.begin);
        foreign_from_ = rendered_.EndOf(i);
      } else if (source != nullptr && source->field == TextField::kContent && !run.changed) {
        AddMedia(run, rendered_.EndOf(i), source->message);
      }
    }
    AddLiterals(rendered_.text.size());
  }

 private:
  // Looks at the bytes from foreign_from_ on, none of which is the template's.
  void AddLiterals(size_t end) {
    const std::string_view text = std::string_view(rendered_.text).substr(0, end);
    for (size_t at = foreign_from_; at < end;) {
      const TextRange found = specials_.Find(text, at);
      if (found.begin >= end) break;
      prompt_.literals.push_back(found);
      at = found.end;
    }
    foreign_from_ = end;
  }

  void AddMedia(const jinja::Run& run, size_t end, size_t message) {
    if (message >= conversation_.messages.size()) return;
    const MarkedMedia& media = conversation_.messages[message].media;
    const size_t offset = run.offset;
    auto marked = std::lower_bound(
        media.begin(), media.end(), offset,
        [](const MarkedMedium& candidate, size_t at) { return candidate.begin < at; });
    for (; marked != media.end() && marked->end <= offset + (end - run.begin); ++marked) {
      const size_t begin = run.begin + (marked->begin - offset);
      AddLiterals(begin);
      foreign_from_ = begin + (marked->end - marked->begin);
      prompt_.media.push_back({begin, foreign_from_, marked->medium});
    }
  }

  const RenderedText& rendered_;
  const SpecialTexts& specials_;
  const Conversation& conversation_;
  PromptText& prompt_;
  size_t foreign_from_ = 0;
};

}  // namespace

PromptText PromptOf(RenderedText rendered, const SpecialTexts& specials,
                    const Conversation& conversation) {
  PromptText prompt;
  OriginReader(rendered, specials, conversation, &prompt).Read();
  prompt.text = std::move(rendered.text);
  return prompt;
}

Result<PromptText> RenderPrompt(const ChatTemplate& chat_template, const SpecialTexts& specials,
                                const Conversation& conversation, size_t shape_bytes_max) {
  auto rendered = chat_template.RenderWithOrigins(conversation, true);
  if (!rendered) return tl::unexpected(rendered.error());
  TextShape shape;
  if (rendered->text.size() <= shape_bytes_max) {
    shape = FindTextShape(chat_template, conversation, *rendered);
  }
  PromptText prompt = PromptOf(*std::move(rendered), specials, conversation);
  prompt.shape = std::move(shape);
  return prompt;
}

std::vector<PromptPiece> CutAtLiterals(const PromptText& prompt, const SpecialTexts& specials,
                                       TextRange range) {
  if (range.begin >= range.end) return {};
  std::vector<PromptPiece> pieces;
  const auto add = [&](size_t begin, size_t end, bool parse_special) {
    if (begin < end) pieces.push_back({{begin, end}, parse_special});
  };
  auto literal = std::lower_bound(
      prompt.literals.begin(), prompt.literals.end(), range.begin,
      [](const TextRange& candidate, size_t begin) { return candidate.end <= begin; });
  if (literal == prompt.literals.end() || literal->begin >= range.end) {
    return {{range, true}};
  }
  const std::string_view text = std::string_view(prompt.text).substr(0, range.end);
  size_t begin = range.begin;  // of the piece that is growing
  size_t plain = range.begin;  // after the last special text of the template
  size_t at = range.begin;
  bool holds_literal = false;
  while (at < range.end) {
    // The template's next special text, which must not reach into a literal.
    const bool more = literal != prompt.literals.end() && literal->begin < range.end;
    const size_t stop = more ? std::max(literal->begin, at) : range.end;
    const TextRange special = specials.Find(text.substr(0, stop), at);
    if (special.begin < stop) {
      if (holds_literal) {
        add(begin, special.begin, false);
        begin = special.begin;
        holds_literal = false;
      }
      plain = at = special.end;
      continue;
    }
    if (!more) break;
    if (!holds_literal) {
      add(begin, plain, true);
      begin = plain;
      holds_literal = true;
    }
    at = std::min(literal->end, range.end);
    ++literal;
  }
  add(begin, range.end, !holds_literal);
  return pieces;
}

}  // namespace cairn
