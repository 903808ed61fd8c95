// Limits for the number and the length of a request's stop texts.

#ifndef CAIRN_API_REQUEST_STOP_LIMITS_H_
#define CAIRN_API_REQUEST_STOP_LIMITS_H_

#include <string>
#include <vector>

#include "api/json.h"

namespace cairn {

// Fails the field `name` if `texts` are too many or too long. The context thread searches every
// answer for all of them, so long lists would slow down all requests.
void CheckStops(FieldReader* fields, const char* name, const std::vector<std::string>& texts);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_STOP_LIMITS_H_
