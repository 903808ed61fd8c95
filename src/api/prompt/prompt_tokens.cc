#include "api/prompt/prompt_tokens.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace cairn {
namespace {

// Bytes that are enough to see how the tokenizer begins a text.
constexpr size_t kSampleBytes = 64;

// Returns whether the tokenizer inserts nothing at the start of `text` if it is tokenized
// separately.
bool StartsClean(const Engine& engine, std::string_view text) {
  size_t bytes = std::min(text.size(), kSampleBytes);
  while (bytes < text.size() && bytes > 0 && IsContinuationByte(text[bytes])) --bytes;
  const auto tokens = engine.Tokenize(text.substr(0, bytes), false, true);
  if (!tokens) return false;
  std::string pieces;
  for (const Token token : *tokens) pieces += engine.Piece(token, true);
  return pieces == text.substr(0, bytes);
}

class PromptTokenizer {
 public:
  PromptTokenizer(const Engine& engine, const SpecialTexts& specials, const PromptText& prompt,
                  bool adds_bos, const KnownTexts& known)
      : engine_(engine), specials_(specials), prompt_(prompt), adds_bos_(adds_bos), known_(known) {}

  Result<Tokens> Run(std::span<const KnownAnswer> answers, std::span<const KnownMedium> media) {
    const std::string_view text = prompt_.text;
    // An empty text may still get a BOS.
    if (text.empty()) return engine_.Tokenize(text, adds_bos_, true);
    size_t at = 0;
    const auto add_medium = [&](const KnownMedium& medium) {
      Status added = AddText({at, medium.range.begin});
      for (const LaidOutPiece& piece : medium.layout->pieces) Add(piece.tokens);
      at = medium.range.end;
      return added;
    };
    for (const KnownAnswer& answer : answers) {
      while (!media.empty() && media.front().range.begin < answer.range.begin) {
        if (Status added = add_medium(media.front()); !added) {
          return tl::unexpected(added.error());
        }
        media = media.subspan(1);
      }
      const bool overlaps = answer.range.begin < at ||
                            (!media.empty() && media.front().range.begin < answer.range.end);
      if (overlaps || answer.range.begin == 0) continue;
      if (!StartsClean(engine_, text.substr(answer.range.end))) continue;
      if (Status added = AddText({at, answer.range.begin}); !added) {
        return tl::unexpected(added.error());
      }
      Add(answer.tokens);
      at = answer.range.end;
    }
    for (const KnownMedium& medium : media) {
      if (Status added = add_medium(medium); !added) return tl::unexpected(added.error());
    }
    if (Status added = AddText({at, text.size()}); !added) return tl::unexpected(added.error());
    return std::move(tokens_);
  }

 private:
  Status AddText(TextRange range) {
    // A text that begins with a medium may still get a BOS.
    if (range.begin == range.end && range.begin == 0 && tokens_.empty()) return AddBos();
    for (const PromptPiece& piece : CutAtLiterals(prompt_, specials_, range)) {
      const std::string_view text =
          std::string_view(prompt_.text)
              .substr(piece.range.begin, piece.range.end - piece.range.begin);
      const bool first = tokens_.empty();
      const bool adds_bos = first && adds_bos_;
      const auto tokens = known_.tokens == nullptr
                              ? engine_.Tokenize(text, adds_bos, piece.parse_special)
                              : known_.tokens->Tokenize(engine_, known_.name_space, text, adds_bos,
                                                        piece.parse_special);
      if (!tokens) return tl::unexpected(tokens.error());
      Add(*tokens);
    }
    return {};
  }

  Status AddBos() {
    if (!adds_bos_) return {};
    const auto tokens = engine_.Tokenize("", true, true);
    if (!tokens) return tl::unexpected(tokens.error());
    Add(*tokens);
    return {};
  }

  void Add(const Tokens& tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }

  const Engine& engine_;
  const SpecialTexts& specials_;
  const PromptText& prompt_;
  const bool adds_bos_;
  const KnownTexts known_;
  Tokens tokens_;
};

}  // namespace

Result<Tokens> KnownTokens::Tokenize(const Engine& engine, NamespaceId name_space,
                                     std::string_view text, bool add_special, bool parse_special) {
  if (text.size() < kTextBytesMin) return engine.Tokenize(text, add_special, parse_special);
  std::string key =
      std::to_string(name_space) + (add_special ? 'a' : '-') + (parse_special ? 'p' : '-');
  key += text;
  if (const auto known = tokens_.Find(key)) return *known;
  auto tokens = engine.Tokenize(text, add_special, parse_special);
  if (tokens) tokens_.Keep(std::move(key), *tokens, tokens->size() * sizeof(Token));
  return tokens;
}

SpecialTexts FindSpecialTexts(const Engine& engine) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < engine.info().vocab_size; ++i) {
    const auto token = static_cast<Token>(i);
    if (!engine.Piece(token, false).empty()) continue;
    texts.push_back(engine.Piece(token, true));
  }
  return SpecialTexts(texts);
}

Result<Tokens> TokenizePrompt(const Engine& engine, const SpecialTexts& specials,
                              const PromptText& prompt, bool adds_bos,
                              std::span<const KnownAnswer> answers,
                              std::span<const KnownMedium> media, const KnownTexts& known) {
  return PromptTokenizer(engine, specials, prompt, adds_bos, known).Run(answers, media);
}

}  // namespace cairn
