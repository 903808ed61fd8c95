// The clients of a soak: threads that send requests to the server and judge every answer.

#ifndef CAIRN_TESTS_SOAK_CLIENT_H_
#define CAIRN_TESTS_SOAK_CLIENT_H_

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "soak/oracle.h"
#include "soak/plan.h"
#include "soak/subject.h"
#include "soak/talk.h"
#include "soak/tally.h"

namespace cairn::soak {

// The API keys of the clients, each with a cache of its own.
inline constexpr const char* kKeys[] = {"soak-key-one", "soak-key-two", "soak-key-three"};

// BegunPrompts: counts the prompt beginnings of each key. A prompt with a new beginning can have
// only the tokens from the key's cache that its other prompts begin with as well. Thread-safe.
class BegunPrompts {
 public:
  // Called before the request is sent.
  void Note(const std::string& key, Api api, const std::string& header);
  // Returns whether the key used this beginning exactly once: called after the answer.
  bool OnlyOnce(const std::string& key, Api api, const std::string& header) const;
  // The most tokens that the prompt shares with others of the key: those of the template before the
  // header, and the letters, each a token, that two headers have in common.
  size_t SharedTokens(const std::string& key, Api api, const std::string& header) const;

 private:
  static std::string KindOf(const std::string& key, Api api);

  mutable std::mutex mutex_;
  std::map<std::string, size_t> times_;  // guarded by mutex_
};

// State shared by the clients of one round.
struct Company {
  const RoundPlan& plan;
  const Subject& subject;
  const Subject* neighbour;  // nullptr: there is none
  Oracle& oracle;
  Tally& tally;
  // The user has interrupted the soak: replies from now on are not judged.
  const std::atomic<bool>& interrupted;
  BegunPrompts begun = {};
  std::atomic<bool> stopped{false};
  std::atomic<bool> paused{false};
  std::atomic<size_t> active{0};  // clients with a request in flight
  std::mutex file_mutex = {};
  std::string folder = {};  // where errors are written
};

// Waits until no client has a request in flight; `paused` or `stopped` must be set.
void WaitUntilQuiet(const Company& company);

// Sends requests until `stopped`. One thread per client.
void RunClient(Company* company, size_t number);

// Sends this many requests at once, more than a queue holds. Returns when all have ended.
void Burst(Company* company, const Life& life, size_t requests, uint64_t seed);

// Opens connections in parallel, sends one request on each, and closes them: afterwards the server
// has all threads that it will need. Returns whether all were answered.
bool HoldConnections(const Life& life, size_t connections);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_CLIENT_H_
