// What a reply is worth, beside what the server without a cache says.

#ifndef CAIRN_TESTS_SOAK_JUDGE_H_
#define CAIRN_TESTS_SOAK_JUDGE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "soak/asking.h"

namespace cairn::soak {

struct Verdict {
  enum class Kind : uint8_t {
    kRight,    // a whole answer, and the right one
    kBegun,    // the beginning of the right one
    kNothing,  // nothing came, for a reason that may be
    kRefused,  // for a reason that may be: full, or what no server would take
    kWrong,    // another answer
    kFault,    // what may not happen
  };
  Kind kind = Kind::kNothing;
  std::string why;  // of kWrong and kFault
};

// `right` is called at most once, and not where nothing came that could be compared. `may_fail`:
// the server was being ended. `impatient`: the client did not wait as long as an answer may take.
Verdict JudgeReply(const Reply& reply, bool may_fail, bool impatient,
                   const std::function<Reply()>& right);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_JUDGE_H_
