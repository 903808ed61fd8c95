// Looks up the answer's last tokens: in an earlier answer to the same prompt as long as the two
// agree, then in the conversation itself, then in others of the namespace. Agents repeat much: a
// file that is edited is written out again, and a tool's result is quoted. Related: prompt lookup
// decoding.

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "sched/draft/drafter.h"
#include "sched/draft/ngram_index.h"

namespace cairn {
namespace {

// With fewer tokens most finds are chance; with more, a repetition is found too late.
constexpr size_t kShort = 3;
constexpr size_t kLong = StoredText::kNgramTokens;
// As long as --spec-draft-n-max may be.
constexpr size_t kTokensMax = 64;

class NgramDrafter final : public Drafter {
 public:
  explicit NgramDrafter(AnswerStart start)
      : earlier_answer_(std::move(start.earlier_answer)),
        stored_(std::move(start.stored)),
        finds_short_(!start.has_model) {}

  Draft Propose(const DraftPoint& at, const DraftLength& length_of) override {
    const TokenSpan text = at.text;
    if (text.size() < text_begin_) earlier_answer_.clear();  // context shift
    if (text_begin_ == 0) text_begin_ = text.size();
    long_.Extend(text);
    if (finds_short_) short_.Extend(text);
    for (size_t source = 0; source < kDraftSources; ++source) {
      Draft draft{{}, static_cast<DraftSource>(source)};
      draft.tokens = Find(draft.source, text, at.next);
      // A model samples no media.
      draft.tokens.erase(std::find_if(draft.tokens.begin(), draft.tokens.end(), IsMediaToken),
                         draft.tokens.end());
      if (draft.tokens.empty()) continue;
      draft.tokens.resize(length_of(draft.source, draft.tokens.size()));
      if (!draft.tokens.empty()) return draft;
    }
    return {};
  }

 private:
  Tokens Find(DraftSource source, TokenSpan text, Token next) {
    switch (source) {
      case DraftSource::kEarlierAnswer:
        return FromEarlierAnswer(text, next);
      case DraftSource::kLongNgram:
        return FromConversation(long_, text, next);
      case DraftSource::kStoredNgram:
        return FromStored(text, next);
      case DraftSource::kShortNgram:
        return finds_short_ ? FromConversation(short_, text, next) : Tokens();
      case DraftSource::kMtp:
      case DraftSource::kDraftModel:
        break;
    }
    return {};
  }

  // The answer so far is what follows text_begin_, and `next`.
  Tokens FromEarlierAnswer(TokenSpan text, Token next) {
    const size_t decoded = text.size() - text_begin_;
    while (agreed_ < decoded && agreed_ < earlier_answer_.size()) {
      if (earlier_answer_[agreed_] != text[text_begin_ + agreed_]) earlier_answer_.clear();
      ++agreed_;
    }
    if (decoded >= earlier_answer_.size() || earlier_answer_[decoded] != next) {
      earlier_answer_.clear();
      return {};
    }
    const TokenSpan left = TokenSpan(earlier_answer_).subspan(decoded + 1);
    const TokenSpan drafted = left.first(std::min(left.size(), kTokensMax));
    return {drafted.begin(), drafted.end()};
  }

  Tokens FromStored(TokenSpan text, Token next) const {
    if (stored_ == nullptr || text.size() + 1 < StoredText::kNgramTokens) return {};
    const auto ngram = LastTokens(text, next, StoredText::kNgramTokens);
    const TokenSpan found =
        stored_->After(TokenSpan(ngram).first(StoredText::kNgramTokens), kTokensMax);
    return {found.begin(), found.end()};
  }

  // The last `n` tokens.
  static std::array<Token, kLong> LastTokens(TokenSpan text, Token next, size_t n) {
    const TokenSpan last = text.last(n - 1);
    std::array<Token, kLong> ngram = {};
    std::copy(last.begin(), last.end(), ngram.begin());
    ngram[last.size()] = next;
    return ngram;
  }

  static Tokens FromConversation(const NgramIndex& index, TokenSpan text, Token next) {
    if (text.size() + 1 < index.n()) return {};
    const auto ngram = LastTokens(text, next, index.n());
    const auto found = index.Find(text, TokenSpan(ngram).first(index.n()));
    if (!found) return {};
    // The repetition may reach into itself.
    Tokens tokens;
    for (size_t at = *found; tokens.size() < kTokensMax; ++at) {
      if (at < text.size()) {
        tokens.push_back(text[at]);
      } else {
        const size_t behind = at - text.size();
        tokens.push_back(behind == 0 ? next : tokens[behind - 1]);
      }
    }
    return tokens;
  }

  Tokens earlier_answer_;                     // empty once the answer differs from it
  size_t agreed_ = 0;                         // tokens of both that were compared
  size_t text_begin_ = 0;                     // where the answer begins in the text; 0: no call yet
  std::shared_ptr<const StoredText> stored_;  // may be null
  const bool finds_short_;
  NgramIndex long_{kLong};
  NgramIndex short_{kShort};
};

}  // namespace

std::unique_ptr<Drafter> MakeNgramDrafter(AnswerStart start) {
  return std::make_unique<NgramDrafter>(std::move(start));
}

}  // namespace cairn
