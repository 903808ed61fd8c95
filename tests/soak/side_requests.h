// Requests that are no questions: wrong ones, those that look at the cache or move it about, and
// those that end in the middle.

#ifndef CAIRN_TESTS_SOAK_SIDE_REQUESTS_H_
#define CAIRN_TESTS_SOAK_SIDE_REQUESTS_H_

#include <string>

#include "lab/client/seeded_text.h"
#include "soak/asking.h"
#include "soak/subject.h"
#include "soak/tally.h"

namespace cairn::soak {

// Sends one. `talk` is what the client talks about, in its API's form. What was wrong; empty:
// nothing.
std::string SideRequest(const Life& life, const std::string& key, const Json& talk,
                        SeededText* dice, Tally* tally);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_SIDE_REQUESTS_H_
