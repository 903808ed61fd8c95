// Sampling settings as JSON, with llama-server's names.

#ifndef CAIRN_API_REQUEST_SETTINGS_JSON_H_
#define CAIRN_API_REQUEST_SETTINGS_JSON_H_

#include "api/json.h"
#include "sched/request/generation_request.h"

namespace cairn {

Json SettingsJson(const GenerationParams& params);

}  // namespace cairn

#endif  // CAIRN_API_REQUEST_SETTINGS_JSON_H_
