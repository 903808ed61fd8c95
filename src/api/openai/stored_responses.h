// StoredResponses: responses of POST /v1/responses that a client may fetch, and continue by
// `previous_response_id`.
//
//   resp_1  input, output  <-  resp_2  input, output  <-  resp_4
//                          <-  resp_3
//
// A turn holds its own items and a reference to the turn before it, so a conversation's items are
// stored once, however many of its responses are stored and however they branch. A turn is kept
// while its response is stored, while a later turn refers to it, or while a request uses it.
//
// Each namespace has the same budget in bytes; its oldest responses are evicted first. No namespace
// sees or evicts responses of another one. All responses are in memory and end with the process.
//
// Threads: any.

#ifndef CAIRN_API_OPENAI_STORED_RESPONSES_H_
#define CAIRN_API_OPENAI_STORED_RESPONSES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/api_error.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

struct StoredResponsesOptions {
  size_t key_bytes_max = size_t{32} << 20U;  // budget of one namespace
  double ttl_ms = 86'400'000;                // since the response was stored
};

// ResponseTurn: the items that one request added to a conversation.
struct ResponseTurn {
  std::string id;        // id of the response
  std::string input;     // the request's own items, a JSON list
  std::string response;  // the answer, a JSON object
};
using ResponseTurns = std::vector<std::shared_ptr<const ResponseTurn>>;  // oldest first

class StoredResponses {
 public:
  // A stored conversation up to one of its responses. Its turns are kept while this object lives.
  // Must not outlive the StoredResponses.
  class Chain {
   public:
    ~Chain();
    Chain(const Chain&) = delete;
    Chain& operator=(const Chain&) = delete;
    const ResponseTurns& turns() const { return turns_; }

   private:
    friend class StoredResponses;
    Chain(StoredResponses* owner, NamespaceId name_space, ResponseTurns turns)
        : owner_(owner), name_space_(name_space), turns_(std::move(turns)) {}

    StoredResponses* const owner_;
    const NamespaceId name_space_;
    const ResponseTurns turns_;
  };

  StoredResponses(const Clock* clock, const StoredResponsesOptions& options)
      : clock_(clock), options_(options) {}
  StoredResponses(const StoredResponses&) = delete;
  StoredResponses& operator=(const StoredResponses&) = delete;

  // `previous` is the conversation that the response continues; may be null. A response that
  // exceeds the budget together with its predecessors is not stored.
  void Store(NamespaceId name_space, ResponseTurn turn, const Chain* previous);
  // Returns 404 if it is not stored. The message says whether it expired, was evicted or was
  // deleted, for the last 1,024 responses of the namespace.
  ApiResult<std::shared_ptr<const Chain>> Find(const std::string& id, NamespaceId name_space);
  // Returns the last turn of Find alone, in a time that does not depend on the turns before it.
  // Null if the response is not stored.
  std::shared_ptr<const ResponseTurn> FindTurn(const std::string& id, NamespaceId name_space);
  // Turns that later responses refer to are kept. 404 as for Find.
  ApiResult<void> Remove(const std::string& id, NamespaceId name_space);

  size_t key_bytes_max() const { return options_.key_bytes_max; }
  // Returns the bytes that one namespace uses.
  size_t bytes(NamespaceId name_space) const;

 private:
  enum class Gone : uint8_t { kExpired, kEvicted, kDeleted, kTooLarge };
  struct Turn {
    std::shared_ptr<const ResponseTurn> texts;
    std::string previous;    // its id; empty if there is none
    size_t bytes = 0;        // of this turn
    size_t chain_bytes = 0;  // including all its predecessors
    size_t users = 0;        // references by its response, later turns and live chains
  };
  struct Entry {
    std::string id;
    double stored_ms = 0;
  };
  struct Departure {
    std::string id;
    double gone_ms = 0;
  };
  struct Space {
    std::map<std::string, Turn> turns;
    std::list<Entry> stored;  // oldest first
    std::map<std::string, std::list<Entry>::iterator> by_id;
    std::deque<Departure> departures;  // oldest first
    std::map<std::string, Gone> gone;
    size_t bytes = 0;
  };

  void ForgetExpired() REQUIRES(mutex_);
  void Forget(Space* space, std::string id, Gone why) const REQUIRES(mutex_);
  void NoteGone(Space* space, const std::string& id, Gone why) const REQUIRES(mutex_);
  ApiError MissingError(const Space* space, const std::string& id) const REQUIRES(mutex_);
  // REQUIRES: mutex_ of the space's owner is held.
  static void Release(Space* space, std::string id);

  const Clock* const clock_;
  const StoredResponsesOptions options_;
  mutable Mutex mutex_;
  std::map<NamespaceId, Space> spaces_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_API_OPENAI_STORED_RESPONSES_H_
