// Looks up the answer's last tokens: in an earlier answer to the same prompt as long as the two
// agree, then in the conversation itself. Agents repeat much: a file that is edited is written out
// again, and a tool's result is quoted. Related: prompt lookup decoding.

#include <algorithm>
#include <array>
#include <utility>

#include "sched/draft/drafter.h"
#include "sched/draft/ngram_index.h"

namespace cairn {
namespace {

// With fewer tokens most finds are chance; with more, a repetition is found too late.
constexpr size_t kShort = 3;
constexpr size_t kLong = 8;

class NgramDrafter final : public Drafter {
 public:
  explicit NgramDrafter(Tokens earlier_answer) : earlier_answer_(std::move(earlier_answer)) {}

  Draft Propose(TokenSpan text, Token next, size_t tokens_max) override {
    if (text.size() < text_begin_) earlier_answer_.clear();  // context shift
    if (text_begin_ == 0) text_begin_ = text.size();
    Draft draft = FromEarlierAnswer(text, next, tokens_max);
    if (!draft.tokens.empty()) return draft;
    long_.Extend(text);
    short_.Extend(text);
    draft = FromConversation(long_, text, next, tokens_max);
    draft.source = DraftSource::kLongNgram;
    if (!draft.tokens.empty()) return draft;
    draft = FromConversation(short_, text, next, tokens_max);
    draft.source = DraftSource::kShortNgram;
    return draft;
  }

 private:
  // The answer so far is what follows text_begin_, and `next`.
  Draft FromEarlierAnswer(TokenSpan text, Token next, size_t tokens_max) {
    Draft draft;
    const size_t decoded = text.size() - text_begin_;
    while (agreed_ < decoded && agreed_ < earlier_answer_.size()) {
      if (earlier_answer_[agreed_] != text[text_begin_ + agreed_]) earlier_answer_.clear();
      ++agreed_;
    }
    if (decoded >= earlier_answer_.size() || earlier_answer_[decoded] != next) {
      earlier_answer_.clear();
      return draft;
    }
    const TokenSpan left = TokenSpan(earlier_answer_).subspan(decoded + 1);
    const TokenSpan drafted = left.first(std::min(left.size(), tokens_max));
    draft.tokens.assign(drafted.begin(), drafted.end());
    return draft;
  }

  static Draft FromConversation(const NgramIndex& index, TokenSpan text, Token next,
                                size_t tokens_max) {
    Draft draft;
    if (text.size() + 1 < index.n()) return draft;
    const TokenSpan last = text.last(index.n() - 1);
    std::array<Token, kLong> ngram = {};
    std::copy(last.begin(), last.end(), ngram.begin());
    ngram[last.size()] = next;
    const auto found = index.Find(text, TokenSpan(ngram).first(index.n()));
    if (!found) return draft;
    // The repetition may reach into itself.
    for (size_t at = *found; draft.tokens.size() < tokens_max; ++at) {
      if (at < text.size()) {
        draft.tokens.push_back(text[at]);
      } else {
        const size_t behind = at - text.size();
        draft.tokens.push_back(behind == 0 ? next : draft.tokens[behind - 1]);
      }
    }
    return draft;
  }

  Tokens earlier_answer_;  // empty once the answer differs from it
  size_t agreed_ = 0;      // tokens of both that were compared
  size_t text_begin_ = 0;  // where the answer begins in the text; 0: no call yet
  NgramIndex long_{kLong};
  NgramIndex short_{kShort};
};

}  // namespace

std::unique_ptr<Drafter> MakeNgramDrafter(Tokens earlier_answer) {
  return std::make_unique<NgramDrafter>(std::move(earlier_answer));
}

}  // namespace cairn
