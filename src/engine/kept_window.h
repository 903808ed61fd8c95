// A sliding window that is kept whole (--swa-full): the model's class is kAttention, and its traits
// have the window's length all the same.
//
//   slot        [ t0 … t899 | t900 … t999 ]     truncated anywhere
//   full state  [           | t900 … t999 ]     of those layers; all rows of the others
//
// libllama writes only the rows that the last token attends to. So a slot that was restored from a
// longer full state goes on at its end, with other last bits, and is truncated nowhere before.

#ifndef CAIRN_ENGINE_KEPT_WINDOW_H_
#define CAIRN_ENGINE_KEPT_WINDOW_H_

#include <cstddef>

#include "engine/engine.h"

namespace cairn {

// Whether a full state of so many tokens holds all that the slot held.
inline bool HoldsAllRows(const MemoryTraits& traits, size_t tokens) {
  const bool keeps_window = traits.memory_class == MemoryClass::kAttention;
  return !keeps_window || traits.window_tokens == 0 || tokens <= traits.window_tokens;
}

}  // namespace cairn

#endif  // CAIRN_ENGINE_KEPT_WINDOW_H_
