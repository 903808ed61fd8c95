// JudgeReply: compares a reply with that of the server without a cache.

#ifndef CAIRN_TESTS_SOAK_JUDGE_H_
#define CAIRN_TESTS_SOAK_JUDGE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "soak/asking.h"

namespace cairn::soak {

struct Verdict {
  enum class Kind : uint8_t {
    kRight,    // a complete answer, and the right one
    kBegun,    // a prefix of the right one
    kNothing,  // no answer, for an allowed reason
    kRefused,  // for an allowed reason: the queue is full, or the request is invalid
    kWrong,    // another answer
    kFault,    // a forbidden outcome
  };
  Kind kind = Kind::kNothing;
  std::string why;  // of kWrong and kFault
};

// `right` is called at most once, and only if there is an answer to compare. `may_fail`: the server
// was shutting down. `impatient`: the client's timeout is shorter than an answer may take.
Verdict JudgeReply(const Reply& reply, bool may_fail, bool impatient,
                   const std::function<Reply()>& right);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_JUDGE_H_
