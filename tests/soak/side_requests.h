// Requests other than questions: invalid ones, those that inspect or change the cache, and those
// that end in the middle.

#ifndef CAIRN_TESTS_SOAK_SIDE_REQUESTS_H_
#define CAIRN_TESTS_SOAK_SIDE_REQUESTS_H_

#include <string>

#include "lab/client/seeded_text.h"
#include "soak/asking.h"
#include "soak/subject.h"
#include "soak/tally.h"

namespace cairn::soak {

// Sends one. `talk` is the client's conversation, in its API's form. Returns what was wrong; empty:
// nothing.
std::string SideRequest(const Life& life, const std::string& key, const Json& talk,
                        SeededText* dice, Tally* tally);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_SIDE_REQUESTS_H_
