// The fields of OpenAI's and Anthropic's references that would change an answer, or what becomes of
// it, and that this server does not have. Each is a 400 that says so: a client must not take an
// answer for one that it asked for otherwise.
//
// docs/openapi.yaml says of every field of the references what becomes of it
// (routes/reference_fields_test.cc).

#ifndef CAIRN_API_REQUEST_REFERENCE_FIELDS_H_
#define CAIRN_API_REQUEST_REFERENCE_FIELDS_H_

#include <cstdint>

#include "api/api_error.h"
#include "api/json.h"

namespace cairn {

enum class Reference : uint8_t { kChat, kResponses, kMessages };

// Null, false, zero and empty values are as good as no field. Any thread.
ApiResult<void> RefuseUnsupported(const Json& body, Reference reference);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_REFERENCE_FIELDS_H_
