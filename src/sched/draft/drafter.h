// Drafter: guesses the next tokens of one answer. The model verifies a draft in one computation
// (sched/steps/decoder.h): it samples as always, and a drafted token only spares it a decode if it
// is the one that was sampled.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_DRAFT_DRAFTER_H_
#define CAIRN_SCHED_DRAFT_DRAFTER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/tokens.h"
#include "sched/draft/stored_text.h"

namespace cairn {

// Where a draft comes from.
enum class DraftSource {
  kEarlierAnswer,  // an earlier answer to the same prompt
  kLongNgram,      // the conversation, where the last tokens occurred before
  kStoredNgram,    // likewise, another stored conversation of the namespace
  kDraftModel,
  kShortNgram,  // the conversation, where fewer tokens occurred before
};
inline constexpr size_t kDraftSources = 5;
// "earlier_answer", "long_ngram", "stored_ngram", "draft_model", "short_ngram".
std::string_view DraftSourceName(DraftSource source);
// The share of drafted tokens that are expected to be accepted before any was seen.
double ExpectedAcceptance(DraftSource source);

struct Draft {
  Tokens tokens;
  DraftSource source = DraftSource::kEarlierAnswer;
};

// Returns how many tokens to draft, of at most `tokens` that a source has; 0 if no draft pays.
using DraftLength = std::function<size_t(DraftSource source, size_t tokens)>;

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Returns tokens that may follow `text` and `next`, which is sampled and not decoded yet; none if
  // there is no guess. `text` grows from call to call, or is shifted as a whole (context shift).
  virtual Draft Propose(TokenSpan text, Token next, const DraftLength& length_of) = 0;
  // The answer ends or is preempted. `text`: its slot's tokens; empty if they were lost. After a
  // preemption Propose may be called again.
  virtual void Release(TokenSpan /*text*/) {}
};

// The facts that are known when an answer begins.
struct AnswerStart {
  Tokens earlier_answer = {};  // the tokens that followed this prompt before; empty if it is new
  std::shared_ptr<const StoredText> stored = nullptr;  // other conversations; may be null
  bool has_draft_model = false;  // which guesses better than a few tokens that occurred before
};

// Makes the drafter of one answer.
using DrafterFactory = std::unique_ptr<Drafter> (*)(AnswerStart start);

// The kinds of --spec-type.
struct DraftKinds {
  bool ngram = false;
  bool draft_model = false;
};
// Parses names separated by commas: "none", "ngram", "draft-simple" (a draft model). llama-server's
// names of its kinds of n-gram lookup mean "ngram". kInvalidArgument for an unknown name.
Result<DraftKinds> ParseDraftKinds(std::string_view names);

// Each is defined in its own file.
std::unique_ptr<Drafter> MakeNgramDrafter(AnswerStart start);

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_DRAFTER_H_
