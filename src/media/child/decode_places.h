// DecodePlaces: the places for decoding children. Who finds none free waits; a place that becomes
// free goes to the owner with the fewest children, then to the one that was served least recently,
// and among the calls of one owner to the first. So an owner with many slow files makes another
// wait for the end of one child, and not of all of its own. Who is not wanted any more leaves the
// line.
//
// Thread-safe.

#ifndef CAIRN_MEDIA_CHILD_DECODE_PLACES_H_
#define CAIRN_MEDIA_CHILD_DECODE_PLACES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>

#include "base/mutex.h"

namespace cairn {

class DecodePlaces {
 public:
  // A place that is taken, until it is destroyed. The places outlive it.
  class Place {
   public:
    Place(DecodePlaces* places, uint64_t owner) : places_(places), owner_(owner) {}
    ~Place() { places_->Leave(owner_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    DecodePlaces* const places_;
    const uint64_t owner_;
  };

  // REQUIRES: `places_max` is not 0.
  explicit DecodePlaces(size_t places_max);

  // Waits for a place. Returns nullptr if there was none for `wait_max`, or once `gone`, which is
  // asked now and then, is true. Empty: it never is.
  std::unique_ptr<Place> Take(uint64_t owner, std::chrono::milliseconds wait_max,
                              const std::function<bool()>& gone = {});
  size_t waiting() const;

 private:
  struct Waiter {
    uint64_t owner = 0;
  };

  void Leave(uint64_t owner);
  // Waits for the turn of `own`. Returns false if it did not come.
  bool AwaitTurn(const Waiter& own, std::chrono::milliseconds wait_max,
                 const std::function<bool()>& gone) REQUIRES(mutex_);
  // Returns whose turn it is. REQUIRES: somebody waits.
  const Waiter* Next() const REQUIRES(mutex_);

  const size_t places_max_;
  mutable Mutex mutex_;
  CondVar changed_;
  size_t taken_ GUARDED_BY(mutex_) = 0;
  uint64_t served_ GUARDED_BY(mutex_) = 0;  // calls that got a place
  std::list<Waiter> waiters_ GUARDED_BY(mutex_);
  std::map<uint64_t, size_t> children_ GUARDED_BY(mutex_);  // of the owners that have some
  // The number of an owner's last call that got a place.
  std::map<uint64_t, uint64_t> served_last_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_MEDIA_CHILD_DECODE_PLACES_H_
