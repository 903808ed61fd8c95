// It must not compile with clang: a guarded member is read without its mutex
// (tests/CMakeLists.txt).

#include "base/mutex.h"

namespace cairn {

class Counter {
 public:
  int count() const { return count_; }

 private:
  mutable Mutex mutex_;
  int count_ GUARDED_BY(mutex_) = 0;
};

int CountOf(const Counter& counter) {
  return counter.count();
}

}  // namespace cairn
