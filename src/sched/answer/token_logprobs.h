// Log-probabilities of drawn tokens: of the model's own distribution, the softmax of its logits,
// before anything that sampling does to it (temperature, penalties, biases, a grammar).
//
// Pure; the thread that owns the context, whose logits they are of.

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
  std::string bytes;  // of control tokens too; need not be whole characters
  double logprob = 0;
};

struct TokenLogprob {
  LikelyToken sampled;
  std::vector<LikelyToken> top;  // likeliest first; of equals, the lower id
};

// `top`: how many of the likeliest; all there are, if fewer. REQUIRES: `drawn` has a logit.
TokenLogprob FindLogprobs(const Engine& engine, std::span<const float> logits, Token sampled,
                          size_t top);

// Keeps what is known of tokens until their text is sent, so that both go together and what a stop
// text cuts off is not told of.
class HeldLogprobs {
 public:
  // Of the next token of the answer, whose text has so many bytes.
  void Add(TokenLogprob logprob, size_t text_bytes);
  // Those whose text began to be sent, when `unsent_bytes` of all so far are not.
  std::vector<TokenLogprob> Take(size_t unsent_bytes);

 private:
  struct Held {
    TokenLogprob logprob;
    size_t begin = 0;  // in bytes from the answer's begin
  };

  std::deque<Held> held_;
  size_t bytes_ = 0;  // of all tokens added
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_
