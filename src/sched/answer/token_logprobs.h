// Log-probabilities of sampled tokens: those of the model's own distribution, the softmax of its
// logits, before sampling changes it (temperature, penalties, biases, a grammar).
//
// Pure; called by the thread that owns the context, whose logits they are.

#ifndef CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_
#define CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_

#include <cstddef>
#include <deque>
#include <optional>
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
TokenLogprob FindLogprobs(const Model& model, std::span<const float> logits, Token sampled,
                          size_t top);

// The same of the distribution that the token was sampled from, after all steps; `candidates` are
// Sampler::Candidates(). A token that is none of them was not sampled, but forced: probability 1.
TokenLogprob FindSampledLogprobs(const Model& model, std::span<const Sampler::Candidate> candidates,
                                 Token sampled, size_t top);

// HeldTokens: holds tokens and their log-probabilities back until their text is sent, so that all
// are sent together and those of text cut off by a stop text are not sent.
class HeldTokens {
 public:
  struct Taken {
    Tokens tokens;
    std::vector<TokenLogprob> logprobs;  // empty if there are none, else one for each token
  };

  // Adds the next token of the answer, whose text has `text_bytes` bytes.
  void Add(Token token, std::optional<TokenLogprob> logprob, size_t text_bytes);
  // Removes and returns those whose text began to be sent. `unsent_bytes`: the bytes added so far
  // that were not sent.
  Taken Take(size_t unsent_bytes);
  // Removes and returns the rest.
  Tokens TakeAll();
  // Whether the last token that was added has no log-probability. True if there is none.
  bool without_logprobs() const { return held_.empty() || !held_.back().logprob; }

 private:
  struct Held {
    Token token = 0;
    std::optional<TokenLogprob> logprob;
    size_t begin = 0;  // in bytes from the answer's beginning
  };

  std::deque<Held> held_;
  size_t bytes_ = 0;  // of all tokens added
};

}  // namespace cairn

#endif  // CAIRN_SCHED_ANSWER_TOKEN_LOGPROBS_H_
