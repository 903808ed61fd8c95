// Speculation: verifies drafts in the decode of the answers, and rolls rejected tokens back.
//
//   slot      … the cat | sat        `sat` is sampled, not decoded yet
//   draft               | sat on the mat        one decode, with logits for each token
//   sampled             |     on the rug        `on` and `the` are accepted, `mat` is rejected
//   slot      … the cat | sat on the            rolled back; `rug` is the next token
//
// Rolling back is a truncation where the memory allows it for so many tokens
// (MemoryTraits::rollback_tokens). Otherwise a snapshot is taken before the decode; the slot is
// restored to it and decodes the accepted tokens again.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_SPECULATION_H_
#define CAIRN_SCHED_STEPS_SPECULATION_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/provenance.h"
#include "base/tokens.h"
#include "engine/engine.h"
#include "sched/context/scheduler_stats.h"
#include "sched/draft/drafter.h"
#include "sched/draft/ngram_index.h"
#include "sched/request/request_state.h"
#include "sched/slots/slot_pool.h"
#include "sched/steps/draft_model.h"

namespace cairn {

// DecodeCosts: the measured time of a decode by its number of tokens, and the length of draft that
// gives the most tokens for it.
//
//   tokens of an answer for k drafted ones, each accepted with probability p if those before it
//   were:
//     1 + p + p^2 + … + p^k
//
// On a GPU a few more tokens cost almost nothing. On a CPU each may cost as much as the first, and
// then no draft pays.
//
// Pure; one thread at a time.
class DecodeCosts {
 public:
  // Records the time of a decode of `tokens` tokens.
  void Add(size_t tokens, double ms);
  // Returns the expected time. Where larger decodes were not measured, they are taken for cheap, so
  // that they are tried. 0 if nothing was measured.
  double Of(size_t tokens) const;

 private:
  struct Cost {
    uint64_t count = 0;
    double ms = 0;
  };
  // Whether the time is known. The first decode of a size is slow, because libllama builds its
  // graph.
  static bool IsKnown(const Cost& cost) { return cost.count > 1; }

  std::vector<Cost> costs_;  // by tokens
};

// A decode as it is planned so far: its tokens, and how many of them answers are expected to gain.
struct PlannedDecode {
  size_t tokens = 0;
  double gained = 0;
};

// The time that a draft takes beside its verification.
struct DraftCost {
  double snapshot_ms = 0;  // of a draft longer than rollback_tokens
  size_t rollback_tokens = 0;
  double ms_per_token = 0;  // of drafting
};

// Returns how many of at most `tokens_max` drafted tokens to add to the decode, of which each is
// accepted with probability `accepted` if those before it were.
size_t BestDraftLength(const DecodeCosts& costs, const PlannedDecode& decode, double accepted,
                       const DraftCost& draft, size_t tokens_max);
// The tokens that an answer is expected to gain by a draft of `tokens`.
double ExpectedGain(double accepted, size_t tokens);

// StoredTexts: makes a namespace's StoredText from its prefix cache and the slots, and again after
// two seconds.
//
// Threads: the context thread.
class StoredTexts {
 public:
  // `pool` must outlive this object.
  explicit StoredTexts(const SlotPool* pool) : pool_(pool) {}

  std::shared_ptr<const StoredText> Of(NamespaceId name_space);

 private:
  struct Made {
    std::shared_ptr<const StoredText> text;
    double made_ms = 0;
  };

  std::vector<Tokens> TextsOf(NamespaceId name_space) const;

  const SlotPool* const pool_;
  std::map<NamespaceId, Made> made_;
};

// MtpSpeed: how long a token takes that the model's heads draft, with what they read for it.
//
// Threads: the context thread.
class MtpSpeed {
 public:
  void OnDrafted(size_t tokens, double ms);
  // No draft paid. What was measured fades, so that a slow moment does not end drafts for ever.
  void OnSkipped();
  // 0: not measured yet. The first drafts are slow, because libllama builds its graphs.
  double ms_per_token() const { return count_ > 2 ? ms_per_token_ : 0; }

 private:
  uint64_t count_ = 0;
  double ms_per_token_ = 0;
};

// The draft of an answer.
struct ProposedDraft {
  const RunningRequest* request = nullptr;
  Draft* draft = nullptr;
};

class Speculation {
 public:
  // All must outlive this object. `draft_model`: nullptr if there is none.
  Speculation(Engine* engine, const Clock* clock, const SlotPool* pool, StatsBoard* stats,
              const DraftOptions& options, DraftModel* draft_model)
      : engine_(engine),
        clock_(clock),
        pool_(pool),
        stats_(stats),
        options_(options),
        draft_model_(draft_model),
        stored_texts_(pool) {}

  // Makes the drafters of an answer whose prompt is computed. `earlier_answer`: see AnswerStart.
  AnswerDrafts Begin(NamespaceId name_space, Tokens earlier_answer);
  // Returns the draft to verify with the request's next token, and adds it to `decode`, which holds
  // that token already. Empty if no draft pays. AskHeads may have to follow.
  Draft Propose(RunningRequest* request, PlannedDecode* decode);
  // Fills in the drafts that the model's heads are to give.
  void AskHeads(std::span<const ProposedDraft> drafts);
  // Called before a draft of `tokens` is decoded. Returns the snapshot that RollBack will need;
  // empty if it needs none. On an error the draft must not be decoded.
  Result<Bytes> Prepare(Slot* slot, size_t tokens);
  // Drops what was decoded behind the slot's tokens, after its first `accepted` drafted tokens and
  // the token before them were added to the slot. On an error the slot is empty.
  Status RollBack(Slot* slot, size_t accepted, const Bytes& snapshot);

  void OnDecoded(size_t tokens, double ms) { costs_.Add(tokens, ms); }
  // Called once for each verified draft, of which the first `accepted` tokens were accepted.
  void OnVerified(RunningRequest* request, const Draft& draft, size_t accepted);

 private:
  void Expect(DraftSource source, double seen, double share);

  Engine* const engine_;
  const Clock* const clock_;
  const SlotPool* const pool_;
  StatsBoard* const stats_;
  const DraftOptions options_;
  DraftModel* const draft_model_;
  StoredTexts stored_texts_;
  DecodeCosts costs_;
  MtpSpeed mtp_speed_;
  Acceptance expected_ = ExpectedAcceptances();  // what the answers so far saw
  double snapshot_ms_ = 0;  // moving average of the time that a draft takes beside its decode
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_SPECULATION_H_
