#include "sched/answer/token_logprobs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// Returns the number that is subtracted from a logit to make it a log-probability.
double LogSum(std::span<const float> logits) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - highest);
  return highest + std::log(sum);
}

}  // namespace

TokenLogprob FindLogprobs(const Model& model, std::span<const float> logits, Token sampled,
                          size_t top) {
  CHECK(sampled >= 0 && static_cast<size_t>(sampled) < logits.size());
  const double log_sum = LogSum(logits);
  const auto likely = [&](Token token) {
    return LikelyToken{token, model.Piece(token, true),
                       logits[static_cast<size_t>(token)] - log_sum};
  };
  TokenLogprob found{likely(sampled), {}};
  if (top == 0) return found;
  std::vector<Token> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = static_cast<std::ptrdiff_t>(std::min(top, order.size()));
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](Token a, Token b) {
    const float of_a = logits[static_cast<size_t>(a)];
    const float of_b = logits[static_cast<size_t>(b)];
    return of_a > of_b || (of_a == of_b && a < b);
  });
  order.resize(static_cast<size_t>(count));
  for (const Token token : order) found.top.push_back(likely(token));
  return found;
}

TokenLogprob FindSampledLogprobs(const Model& model, std::span<const Sampler::Candidate> candidates,
                                 Token sampled, size_t top) {
  TokenLogprob found{{sampled, model.Piece(sampled, true), 0}, {}};
  for (const Sampler::Candidate& candidate : candidates) {
    const double logprob = std::log(static_cast<double>(candidate.probability));
    if (candidate.token == sampled) found.sampled.logprob = logprob;
    if (found.top.size() == top) continue;
    found.top.push_back({candidate.token, model.Piece(candidate.token, true), logprob});
  }
  return found;
}

void HeldTokens::Add(Token token, std::optional<TokenLogprob> logprob, size_t text_bytes) {
  held_.push_back({token, std::move(logprob), bytes_});
  bytes_ += text_bytes;
}

HeldTokens::Taken HeldTokens::Take(size_t unsent_bytes) {
  CHECK(unsent_bytes <= bytes_ || held_.empty());
  Taken taken;
  while (!held_.empty() && (unsent_bytes == 0 || held_.front().begin + unsent_bytes < bytes_)) {
    Held& first = held_.front();
    taken.tokens.push_back(first.token);
    if (first.logprob) taken.logprobs.push_back(*std::move(first.logprob));
    held_.pop_front();
  }
  return taken;
}

Tokens HeldTokens::TakeAll() {
  Tokens tokens;
  for (const Held& held : held_) tokens.push_back(held.token);
  held_.clear();
  return tokens;
}

}  // namespace cairn
