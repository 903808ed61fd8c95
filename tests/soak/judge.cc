#include "soak/judge.h"

namespace cairn::soak {
namespace {

using Kind = Verdict::Kind;

bool SaysNothing(const Answer& answer) {
  for (const Choice& choice : answer.choices) {
    if (!choice.text.empty() || !choice.reasoning.empty() || !choice.calls.empty()) return false;
  }
  return true;
}

// Returns whether a request was refused after its stream had begun with pings: the queue was full,
// and its place went to a client with fewer requests. A Retry-After can no longer be sent.
bool RefusedInStream(const Reply& reply) {
  return SaysNothing(reply.answer) && reply.detail.find("the queue is full") != std::string::npos;
}

Verdict FaultVerdict(const std::string& what, const Reply& reply) {
  return {Kind::kFault, what + " (status " + std::to_string(reply.status) + "): " + reply.detail};
}

Verdict JudgeAnswer(const Reply& reply, const Reply& right) {
  if (right.kind != Reply::Kind::kWhole) {
    return {Kind::kWrong, "answered what a server without a cache does not answer (status " +
                              std::to_string(right.status) + "): " + right.detail};
  }
  const std::string wrong = Compare(reply.answer, right.answer);
  if (!wrong.empty()) return {Kind::kWrong, wrong};
  return {reply.answer.ended ? Kind::kRight : Kind::kBegun, ""};
}

Verdict JudgeRefusal(const Reply& reply, bool may_fail, const std::function<Reply()>& right) {
  if (reply.status == 503 || reply.status == 429) {
    if (reply.retry_after || may_fail) return {Kind::kRefused, ""};
    return FaultVerdict("refused without Retry-After", reply);
  }
  if (reply.status < 400 || reply.status >= 500)
    return FaultVerdict("a status that may not be", reply);
  const Reply said = right();
  if (said.kind == Reply::Kind::kRefused && said.status == reply.status) {
    return {Kind::kRefused, ""};
  }
  return FaultVerdict("refused what a server without a cache answers", reply);
}

}  // namespace

Verdict JudgeReply(const Reply& reply, bool may_fail, bool impatient,
                   const std::function<Reply()>& right) {
  switch (reply.kind) {
    case Reply::Kind::kWhole:
      return JudgeAnswer(reply, right());
    case Reply::Kind::kCut:
      if (RefusedInStream(reply)) return {Kind::kRefused, ""};
      if (!may_fail && !impatient) return FaultVerdict("an answer broke off", reply);
      [[fallthrough]];
    case Reply::Kind::kLeft:
      if (SaysNothing(reply.answer)) return {Kind::kNothing, ""};
      return JudgeAnswer(reply, right());
    case Reply::Kind::kRefused:
      return JudgeRefusal(reply, may_fail, right);
    case Reply::Kind::kNoReply:
      if (may_fail || impatient) return {Kind::kNothing, ""};
      return FaultVerdict("no reply", reply);
    case Reply::Kind::kGarbled:
      break;
  }
  return FaultVerdict("no answer of this API", reply);
}

}  // namespace cairn::soak
