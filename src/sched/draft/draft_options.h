// DraftOptions: the settings of speculative decoding.
//
// Plain data.

#ifndef CAIRN_SCHED_DRAFT_DRAFT_OPTIONS_H_
#define CAIRN_SCHED_DRAFT_DRAFT_OPTIONS_H_

#include <cstddef>

#include "sched/draft/drafter.h"

namespace cairn {

struct DraftOptions {
  DrafterFactory make = nullptr;  // nullptr: no speculative decoding
  size_t tokens_max = 16;         // of a draft
  size_t tokens_min = 0;          // shorter drafts are not verified
  // Whether drafts are as long as measured costs and acceptance recommend, or always as long as
  // they may be.
  bool adapts = true;
  // Whether they are used with ReuseMode::kExact too: a token's logits do not depend on the tokens
  // that are decoded with it.
  bool in_exact = false;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_DRAFT_DRAFT_OPTIONS_H_
