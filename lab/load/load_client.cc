#include "lab/load/load_client.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "lab/bench/bench_result.h"

namespace cairn {
namespace {

size_t PiecesIn(const PieceTimes& answer, const TimeWindow& window) {
  const auto from = std::lower_bound(answer.at_ms.begin(), answer.at_ms.end(), window.begin_ms);
  const auto to = std::lower_bound(answer.at_ms.begin(), answer.at_ms.end(), window.end_ms);
  return from < to ? static_cast<size_t>(to - from) : 0;
}

// Returns the mean tokens per delta; a delta may hold several tokens.
double TokensAPiece(const PieceTimes& answer) {
  if (answer.tokens == 0 || answer.at_ms.empty()) return 1;
  return static_cast<double>(answer.tokens) / static_cast<double>(answer.at_ms.size());
}

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

std::vector<double> GapsIn(const PieceTimes& answer, const TimeWindow& window) {
  std::vector<double> gaps;
  for (size_t i = 1; i < answer.at_ms.size(); ++i) {
    const double at_ms = answer.at_ms[i];
    if (at_ms < window.begin_ms) continue;
    if (answer.at_ms[i - 1] >= window.end_ms) return gaps;
    if (at_ms >= window.end_ms) {
      // The answer stalled across the window's end.
      gaps.push_back(window.end_ms - answer.at_ms[i - 1]);
      return gaps;
    }
    gaps.push_back(at_ms - answer.at_ms[i - 1]);
  }
  if (!answer.ended && !answer.at_ms.empty() && answer.at_ms.back() < window.end_ms) {
    gaps.push_back(window.end_ms - answer.at_ms.back());
  }
  return gaps;
}

TimeWindow TimeOfAll(const std::vector<PieceTimes>& answers) {
  TimeWindow window;
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::vector<double>& at_ms = answers[i].at_ms;
    if (at_ms.empty()) return {};
    window.begin_ms = i == 0 ? at_ms.front() : std::max(window.begin_ms, at_ms.front());
    window.end_ms = i == 0 ? at_ms.back() : std::min(window.end_ms, at_ms.back());
  }
  if (window.end_ms <= window.begin_ms) return {};
  return window;
}

double TokensPerSecond(const std::vector<PieceTimes>& answers, const TimeWindow& window) {
  if (window.length_ms() <= 0) return 0;
  double tokens = 0;
  for (const PieceTimes& answer : answers) {
    tokens += static_cast<double>(PiecesIn(answer, window)) * TokensAPiece(answer);
  }
  return tokens * 1000 / window.length_ms();
}

Spread SpreadOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {Percentile(values, 0.5), Percentile(values, 0.99),
          *std::max_element(values.begin(), values.end())};
}

double RatioOf(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

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
