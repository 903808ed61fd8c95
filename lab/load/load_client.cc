#include "lab/load/load_client.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

namespace cairn {
namespace {

constexpr double kFirstBackOffMs = 250;

void SleepMs(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

// Returns the part that a finished answer lacks; empty if it is complete.
std::string Missing(const ChatAnswer& answer, const ChatParams& params) {
  if (answer.finish_reason.empty()) return "no finish reason";
  if (answer.text_bytes() == 0) return "no text";
  if (params.ignore_end && answer.answer_tokens != params.tokens_max) {
    return "another number of tokens than was asked for";
  }
  return "";
}

}  // namespace

double BackOffMs(double retry_after_s, size_t tries) {
  const double doubled =
      kFirstBackOffMs * std::pow(2, static_cast<double>(std::clamp<size_t>(tries, 1, 20) - 1));
  return std::min(std::max(retry_after_s * 1000, doubled), kBackOffMsMax);
}

LoadReply LoadClient::Ask(const LoadAsk& ask) const {
  LoadReply reply;
  reply.asked_ms = clock_->NowMs();
  size_t text_bytes = 0;
  const auto goes_on = [&](const ChatAnswer& so_far) {
    if (so_far.text_bytes() == text_bytes) return true;
    text_bytes = so_far.text_bytes();
    reply.pieces.at_ms.push_back(clock_->NowMs());
    return !ask.goes_on || ask.goes_on(reply.pieces.at_ms.size());
  };
  ChatHead head;
  Result<ChatAnswer> answer = chat_.AskWhile(ask.messages, ask.params, goes_on, &head);
  if (!answer) {
    reply.detail = answer.error().message;
    if (head.status == 503 && head.retry_after_s >= 0) {
      reply.kind = LoadReply::Kind::kBusy;
      reply.retry_after_s = head.retry_after_s;
    } else if (head.status == 200) {
      reply.kind = LoadReply::Kind::kBroken;
      reply.fault = "the stream broke off or failed";
    } else {
      reply.fault = head.status == 0     ? "no answer"
                    : head.status == 503 ? "503 without Retry-After"
                                         : "status " + std::to_string(head.status);
    }
    return reply;
  }
  reply.answer = std::move(*answer);
  reply.pieces.tokens = reply.answer.answer_tokens;
  reply.pieces.ended = !reply.answer.cancelled;
  reply.kind = LoadReply::Kind::kGivenUp;
  if (reply.answer.cancelled) {
    reply.pieces.tokens = 0;
    return reply;
  }
  const std::string missing = Missing(reply.answer, ask.params);
  reply.kind = missing.empty() ? LoadReply::Kind::kWhole : LoadReply::Kind::kBroken;
  if (!missing.empty()) reply.fault = "the stream has " + missing;
  return reply;
}

LoadReply LoadClient::AskPatiently(const LoadAsk& ask, double until_ms,
                                   std::atomic<size_t>* busy) const {
  for (size_t tries = 1;; ++tries) {
    LoadReply reply = Ask(ask);
    if (reply.kind != LoadReply::Kind::kBusy) return reply;
    ++*busy;
    const double wait_ms = BackOffMs(reply.retry_after_s, tries);
    if (clock_->NowMs() + wait_ms >= until_ms) return reply;
    SleepMs(wait_ms);
  }
}

}  // namespace cairn
