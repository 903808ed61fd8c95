// The kinds of models' memory, for tests of each.

#ifndef CAIRN_TESTING_SCHED_MEMORY_CLASSES_H_
#define CAIRN_TESTING_SCHED_MEMORY_CLASSES_H_

#include <array>

#include "engine/engine.h"

namespace cairn::test {

inline constexpr std::array<MemoryClass, 4> kClasses = {
    MemoryClass::kAttention, MemoryClass::kSlidingWindow, MemoryClass::kRecurrent,
    MemoryClass::kHybrid};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_SCHED_MEMORY_CLASSES_H_
