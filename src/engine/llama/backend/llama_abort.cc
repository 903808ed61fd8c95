#include "engine/llama/backend/llama_abort.h"

#include <ggml.h>
#include <unistd.h>

#include <utility>

#include "base/mutex.h"

namespace cairn {
namespace {

// ggml's callback takes no argument of the caller's, so the handler belongs to the process.
struct AbortState {
  Mutex mutex;
  std::function<void(std::string_view)> handler GUARDED_BY(mutex);
  bool called GUARDED_BY(mutex) = false;
};

// Never destroyed: ggml's threads may fail while the process ends.
AbortState& SharedAbort() {
  static auto* const state = new AbortState;
  return *state;
}

void OnAbort(const char* message) {
  std::function<void(std::string_view)> handler;
  {
    AbortState& state = SharedAbort();
    const MutexLock lock(state.mutex);
    if (!std::exchange(state.called, true)) handler = std::move(state.handler);
  }
  // Another thread fails too, for the same reason; the first one ends the process.
  while (!handler) pause();
  handler(message == nullptr ? "" : message);
}

}  // namespace

void OnLlamaAbort(std::function<void(std::string_view message)> handler) {
  const bool is_set = handler != nullptr;
  {
    AbortState& state = SharedAbort();
    const MutexLock lock(state.mutex);
    state.handler = std::move(handler);
    state.called = false;
  }
  ggml_set_abort_callback(is_set ? OnAbort : nullptr);
}

}  // namespace cairn
