// Drafter: guesses the next tokens of one answer. The model verifies a draft in one computation
// (sched/steps/decoder.h): it samples as always, and a drafted token only spares it a decode if it
// is the one that was sampled.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_DRAFT_DRAFTER_H_
#define CAIRN_SCHED_DRAFT_DRAFTER_H_

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/provenance.h"
#include "base/result.h"
#include "base/tokens.h"
#include "sched/draft/ngram_index.h"

namespace cairn {

// Where a draft comes from.
enum class DraftSource {
  kEarlierAnswer,  // an earlier answer to the same prompt
  kLongNgram,      // the conversation, where the last tokens occurred before
  kStoredNgram,    // likewise, another stored conversation of the namespace
  kMtp,            // the model's own heads for multi-token prediction
  kDraftModel,
  kShortNgram,  // the conversation, where fewer tokens occurred before
};
inline constexpr size_t kDraftSources = 6;
// "earlier_answer", "long_ngram", "stored_ngram", "mtp", "draft_model", "short_ngram".
std::string_view DraftSourceName(DraftSource source);
// The share of drafted tokens that are expected to be accepted before any was seen.
double ExpectedAcceptance(DraftSource source);

struct Draft {
  Tokens tokens;
  DraftSource source = DraftSource::kEarlierAnswer;
  // Tokens that the model's heads are still to give: they draft for all answers together
  // (sched/steps/speculation.h). `tokens` is empty until then.
  size_t asked = 0;

  size_t size() const { return tokens.empty() ? asked : tokens.size(); }
};

// Returns how many tokens to draft, of at most `tokens` that a source has; 0 if no draft pays.
using DraftLength = std::function<size_t(DraftSource source, size_t tokens)>;

// Where a draft is to begin: behind an answer's text so far and `next`, which is sampled and not
// decoded yet.
struct DraftPoint {
  TokenSpan text = {};
  Token next = 0;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  // Returns tokens that may follow; none if there is no guess. The text grows from call to call, or
  // is shifted as a whole (context shift).
  virtual Draft Propose(const DraftPoint& at, const DraftLength& length_of) = 0;
  // The answer ends or is preempted. `text`: its slot's tokens; empty if they were lost. After a
  // preemption Propose may be called again.
  virtual void Release(TokenSpan /*text*/) {}
};

// The facts that are known when an answer begins.
struct AnswerStart {
  Tokens earlier_answer = {};  // the tokens that followed this prompt before; empty if it is new
  std::shared_ptr<const StoredText> stored = nullptr;  // other conversations; may be null
  // A draft model or heads follow, which guess better than a few tokens that occurred before.
  bool has_model = false;
};

// Makes the drafter of one answer.
using DrafterFactory = std::unique_ptr<Drafter> (*)(AnswerStart start);

// The kinds of --spec-type.
struct DraftKinds {
  bool ngram = false;
  bool mtp = false;
  bool draft_model = false;
  // All that there are for the model, and none where drafts are not allowed.
  bool automatic = false;
};
// Parses names separated by commas: "none", "auto", "ngram", "draft-mtp" (the model's own heads),
// "draft-simple" (a draft model). llama-server's names of its kinds of n-gram lookup mean "ngram".
// kInvalidArgument for an unknown name.
Result<DraftKinds> ParseDraftKinds(std::string_view names);

// Defined in its own file.
std::unique_ptr<Drafter> MakeNgramDrafter(AnswerStart start);

// The share of drafted tokens that is accepted, by DraftSource.
using Acceptance = std::array<double, kDraftSources>;
// ExpectedAcceptance of each.
Acceptance ExpectedAcceptances();

// AnswerDrafts: the drafters of one answer, and how often their drafts were accepted.
//
// Threads: the context thread.
class AnswerDrafts {
 public:
  AnswerDrafts() = default;  // proposes nothing
  // Each proposes where those before it have no draft. `expected`: what earlier answers saw.
  explicit AnswerDrafts(std::vector<std::unique_ptr<Drafter>> drafters,
                        const Acceptance& expected = ExpectedAcceptances())
      : drafters_(std::move(drafters)), expected_(expected), accepted_(expected) {}

  bool on() const { return !drafters_.empty(); }
  // See Drafter.
  Draft Propose(const DraftPoint& at, const DraftLength& length_of) {
    for (const auto& drafter : drafters_) {
      Draft draft = drafter->Propose(at, length_of);
      if (draft.size() > 0) return draft;
    }
    return {};
  }
  void Release(TokenSpan text) {
    for (const auto& drafter : drafters_) drafter->Release(text);
  }
  // The estimated probability that a drafted token is accepted if those before it were.
  double accepted(DraftSource source) const { return accepted_[static_cast<size_t>(source)]; }
  // `tokens` were verified, and the first `accepted` of them accepted.
  void OnVerified(DraftSource source, size_t tokens, size_t accepted) {
    for (size_t i = 0; i < accepted; ++i) Learn(source, 1, kNewShare);
    if (accepted < tokens) Learn(source, 0, kNewShare);
  }
  // A draft was not worth verifying. What was seen of its source counts less from then on, so that
  // it is tried again in another part of the answer.
  void OnSkipped(DraftSource source) {
    Learn(source, expected_[static_cast<size_t>(source)], kForgottenShare);
  }

 private:
  static constexpr double kNewShare = 0.1;
  static constexpr double kForgottenShare = 0.01;

  void Learn(DraftSource source, double seen, double share) {
    double& accepted = accepted_[static_cast<size_t>(source)];
    accepted += (seen - accepted) * share;
  }

  std::vector<std::unique_ptr<Drafter>> drafters_;
  Acceptance expected_ = {};
  Acceptance accepted_ = {};
};

class CheckpointCache;
class Engine;

// A draft model. Both pointers must outlive the scheduler.
struct DraftModelOptions {
  Engine* engine = nullptr;          // with as many slots as the model's engine; nullptr: none
  CheckpointCache* cache = nullptr;  // of the draft model's states
  // Drafting ends at a token that the draft model gives less than this probability.
  double p_min = 0;
  LineageId first_lineage = 0;  // see SlotPoolOptions
};

struct DraftOptions {
  DrafterFactory make = nullptr;  // of a drafter without a model; nullptr: none
  // Whether the engine's heads draft (Engine::mtp_heads). Their drafts end at a token of less
  // probability than `mtp_p_min`.
  bool mtp = false;
  double mtp_p_min = 0;
  DraftModelOptions model = {};
  size_t tokens_max = 16;  // of a draft
  size_t tokens_min = 0;   // shorter drafts are not verified
  // Whether drafts are as long as measured costs and acceptance recommend, or always as long as
  // they may be.
  bool adapts = true;
  // Whether they are used with ReuseMode::kExact too: a token's logits do not depend on the tokens
  // that are decoded with it.
  bool in_exact = false;

  bool on() const { return make != nullptr || mtp || model.engine != nullptr; }
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_DRAFTER_H_
