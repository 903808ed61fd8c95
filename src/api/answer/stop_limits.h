// How many stop texts a request may have, and how long.

#ifndef CAIRN_API_ANSWER_STOP_LIMITS_H_
#define CAIRN_API_ANSWER_STOP_LIMITS_H_

#include <string>
#include <vector>

#include "api/json.h"

namespace cairn {

// Makes it a mistake of the field `name` when `texts` are too many or too long: every answer is
// searched for all of them, on the thread that computes for everybody.
void CheckStops(FieldReader* fields, const char* name, const std::vector<std::string>& texts);

}  // namespace cairn

#endif  // CAIRN_API_ANSWER_STOP_LIMITS_H_
