// RequestSeats: how many requests are in progress at once, and whose.
//
// A request takes a seat once its key is known and holds it until its answer has been sent. When
// all seats are taken, one that waits for its client, which sends its body or reads its answer
// slowly, gives way to a request of a key with fewer seats: of the key that holds most, the
// slowest. Clients without a key, where there are keys, give way to all others and take no one's
// seat.
//
//   key A  ■■■■■■■■ 8 seats, of which 3 wait for their clients ── the slowest of the 3 ──┐
//   key B  ■ 1 seat                                                                      │
//   a new request of key B  <────────────────────────────────────────────────────────────┘
//
// Where there are several keys, one key may hold all but an eighth of the seats, whatever its
// requests do.
//
// Thread-safe. Outlives the seats.

#ifndef CAIRN_HTTP_REQUEST_SEATS_H_
#define CAIRN_HTTP_REQUEST_SEATS_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <set>

#include "base/mutex.h"
#include "base/result.h"
#include "http/connections/socket.h"
#include "http/keys.h"

namespace cairn {

class RequestSeats {
 public:
  // The seat of one request; its methods are called by the thread that serves it.
  class Seat final : public ClientWaits {
   public:
    ~Seat() override;
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    bool Begin(ClientWait wait, double lag_ms) override;
    bool End() override;
    // Returns whether another request has this seat now: this one must end.
    bool preempted() const;

   private:
    friend class RequestSeats;
    Seat(RequestSeats* seats, ApiKeys::Number key, bool is_stranger,
         std::shared_ptr<const PeerWatch> peer)
        : seats_(seats), key_(key), is_stranger_(is_stranger), peer_(std::move(peer)) {}

    RequestSeats* const seats_;
    const ApiKeys::Number key_;
    const bool is_stranger_;  // without a key, where there are keys
    const std::shared_ptr<const PeerWatch> peer_;
    bool waits_ GUARDED_BY(seats_->mutex_) = false;
    ClientWait wait_ GUARDED_BY(seats_->mutex_) = ClientWait::kReceives;
    double lag_ms_ GUARDED_BY(seats_->mutex_) = 0;  // when the wait began
    std::chrono::steady_clock::time_point began_ GUARDED_BY(seats_->mutex_);
    bool preempted_ GUARDED_BY(seats_->mutex_) = false;
  };

  explicit RequestSeats(size_t seats_max) : seats_max_(seats_max > 0 ? seats_max : 1) {}
  RequestSeats(const RequestSeats&) = delete;
  RequestSeats& operator=(const RequestSeats&) = delete;

  // Returns a seat for a request of `key`, of `keys` keys that the server has; 0: everybody may
  // send requests. `peer` is its client's. kUnavailable if there is none; the message says so to
  // the client.
  Result<std::unique_ptr<Seat>> Enter(ApiKeys::Number key, size_t keys,
                                      std::shared_ptr<const PeerWatch> peer);

 private:
  size_t HeldBy(ApiKeys::Number key) const REQUIRES(mutex_);
  bool MakeRoomFor(ApiKeys::Number key, bool is_stranger) REQUIRES(mutex_);
  void Leave(Seat* seat) REQUIRES(mutex_);

  const size_t seats_max_;
  mutable Mutex mutex_;
  std::set<Seat*> taken_ GUARDED_BY(mutex_);
  std::map<ApiKeys::Number, size_t> held_ GUARDED_BY(mutex_);  // the seats of each key
};

}  // namespace cairn

#endif  // CAIRN_HTTP_REQUEST_SEATS_H_
