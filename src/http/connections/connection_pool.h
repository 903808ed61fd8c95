// ConnectionPool: the threads that serve connections, and the assignment of threads to connections.
//
// A connection holds one thread from its first byte to its end, streams included. When all threads
// are taken, a connection that is idle between two requests gives up its thread to the new one.
// When none is idle, the new connection is refused at once, on a thread reserved for that.
//
// Thread-safe. Threads start when they are first needed.

#ifndef CAIRN_HTTP_CONNECTIONS_CONNECTION_POOL_H_
#define CAIRN_HTTP_CONNECTIONS_CONNECTION_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "http/connections/socket.h"

namespace cairn {

struct AcceptedSocket {
  int fd = -1;
  std::string remote;
};

class ConnectionPool {
 public:
  // A seat among the connections that are served at once, held by one thread.
  class Seat {
   public:
    explicit Seat(ConnectionPool* pool) : pool_(pool) {}
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    // The connection is idle between two requests. From now on the seat may be reclaimed; wake_fd()
    // is readable then.
    void EnterIdle();
    // The connection is no longer idle; `has_request` says whether because of a new request.
    // Returns false if the seat has been given to another connection: then send nothing but a
    // refusal.
    bool LeaveIdle(bool has_request);
    int wake_fd() const { return pool_->seat_wanted_.fd(); }

   private:
    ConnectionPool* const pool_;
    bool given_away_ = false;
  };

  using Serve = std::function<void(AcceptedSocket socket, Seat* seat)>;
  using Refuse = std::function<void(AcceptedSocket socket)>;

  // Both functions own the descriptor that they get, run on the pool's threads and must not throw.
  ConnectionPool(size_t threads_max, Serve serve, Refuse refuse);
  ~ConnectionPool() { Shutdown(); }
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // Serves or refuses the connection; never blocks for long.
  void Add(AcceptedSocket socket);

  // Closes the waiting connections and joins the threads. Connections that are being served must
  // end on their own.
  void Shutdown();

 private:
  void ServeLoop();
  void RefuseLoop();
  void RefuseLocked(AcceptedSocket socket) REQUIRES(mutex_);

  const size_t threads_max_;
  const Serve serve_;
  const Refuse refuse_;
  WakeFd seat_wanted_{/*counting=*/true};

  Mutex mutex_;
  CondVar work_;
  CondVar refusals_;
  std::deque<AcceptedSocket> waiting_ GUARDED_BY(mutex_);
  std::deque<AcceptedSocket> refused_ GUARDED_BY(mutex_);
  // Seats: connections that have a thread or wait for one.
  size_t taken_ GUARDED_BY(mutex_) = 0;
  size_t idle_ GUARDED_BY(mutex_) = 0;  // of these, connections that are idle
  // The number of idle ones that must give up their seat.
  size_t asked_to_go_ GUARDED_BY(mutex_) = 0;
  size_t threads_free_ GUARDED_BY(mutex_) = 0;  // threads that wait for work
  bool shutdown_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  std::vector<std::thread> refuse_threads_ GUARDED_BY(mutex_);  // at most one
};

}  // namespace cairn

#endif  // CAIRN_HTTP_CONNECTIONS_CONNECTION_POOL_H_
