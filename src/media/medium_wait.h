// How often who waits for the decoding of a medium asks whether the medium is still wanted
// (Medium::gone).

#ifndef CAIRN_MEDIA_MEDIUM_WAIT_H_
#define CAIRN_MEDIA_MEDIUM_WAIT_H_

#include <chrono>

namespace cairn {

inline constexpr std::chrono::milliseconds kGoneLookInterval{100};

}  // namespace cairn

#endif  // CAIRN_MEDIA_MEDIUM_WAIT_H_
