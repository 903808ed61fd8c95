// Drafter: guesses the next tokens of one answer. The model verifies a draft in one computation
// (sched/decoder.h): it samples as always, and a drafted token only spares it a decode if it is the
// one that was sampled.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_DRAFT_DRAFTER_H_
#define CAIRN_SCHED_DRAFT_DRAFTER_H_

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/tokens.h"

namespace cairn {

// Where a draft comes from.
enum class DraftSource {
  kEarlierAnswer,  // an earlier answer to the same prompt
  kLongNgram,      // the conversation, where the last tokens occurred before
  kShortNgram,     // likewise, with fewer tokens
};
inline constexpr size_t kDraftSources = 3;
// "earlier_answer", "long_ngram", "short_ngram".
std::string_view DraftSourceName(DraftSource source);
// The share of drafted tokens that are expected to be accepted before any was seen.
double ExpectedAcceptance(DraftSource source);

struct Draft {
  Tokens tokens;
  DraftSource source = DraftSource::kEarlierAnswer;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Returns at most `tokens_max` tokens that may follow `text` and `next`, which is sampled and not
  // decoded yet; none if there is no guess. `text` grows from call to call, or is shifted as a
  // whole (context shift).
  virtual Draft Propose(TokenSpan text, Token next, size_t tokens_max) = 0;
};

// Makes the drafter of one answer. `earlier_answer`: the tokens that followed this prompt before;
// empty if it is new.
using DrafterFactory = std::unique_ptr<Drafter> (*)(Tokens earlier_answer);

// The factory of --spec-type's value: "none" gives nullptr, "ngram" MakeNgramDrafter.
// llama-server's names of its kinds of n-gram lookup are taken for "ngram". kInvalidArgument for an
// unknown name.
Result<DrafterFactory> FindDrafter(std::string_view name);

// Each is defined in its own file.
std::unique_ptr<Drafter> MakeNgramDrafter(Tokens earlier_answer);

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_DRAFTER_H_
