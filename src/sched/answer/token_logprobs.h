// Log-probabilities of sampled tokens: those of the model's own distribution, the softmax of its
// logits, before sampling changes it (temperature, penalties, biases, a grammar).
//
// Pure; called by the thread that owns the context, whose logits they are.

#ifndef CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_
#define CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/tokens.h"
#include "engine/engine.h"

namespace cairn {

struct LikelyToken {
  Token token = 0;
  std::string bytes;  // control tokens have some too; not always whole UTF-8 characters
  double logprob = 0;
};

struct TokenLogprob {
  LikelyToken sampled;
  std::vector<LikelyToken> top;  // likeliest first; of equals, the lower id first
};

// `top`: how many of the likeliest tokens to return; all, if there are fewer. REQUIRES: `sampled`
// has a logit.
TokenLogprob FindLogprobs(const Engine& engine, std::span<const float> logits, Token sampled,
                          size_t top);

// HeldLogprobs: holds log-probabilities back until their token's text is sent, so that both are
// sent together and those of text cut off by a stop text are not sent.
class HeldLogprobs {
 public:
  // Adds the next token of the answer, whose text has `text_bytes` bytes.
  void Add(TokenLogprob logprob, size_t text_bytes);
  // Removes and returns those whose text began to be sent. `unsent_bytes`: the bytes added so far
  // that were not sent.
  std::vector<TokenLogprob> Take(size_t unsent_bytes);

 private:
  struct Held {
    TokenLogprob logprob;
    size_t begin = 0;  // in bytes from the answer's beginning
  };

  std::deque<Held> held_;
  size_t bytes_ = 0;  // of all tokens added
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_
