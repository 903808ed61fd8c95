// The text of `cairn doctor`, made of the body of GET /cairn/doctor. Pure.

#ifndef CAIRN_CMD_DOCTOR_DOCTOR_VIEW_H_
#define CAIRN_CMD_DOCTOR_DOCTOR_VIEW_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace cairn {

// kCorrupt if the body does not have the expected form.
Result<std::string> DoctorView(std::string_view report);

}  // namespace cairn

#endif  // CAIRN_CMD_DOCTOR_DOCTOR_VIEW_H_
