// The clients of a soak: threads that talk to the server and look at every answer.

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

// The keys that clients show, each with a cache of its own.
inline constexpr const char* kKeys[] = {"soak-key-one", "soak-key-two", "soak-key-three"};

// With what each key has begun prompts. What begins like none of them cannot come from its cache.
// Thread-safe.
class BegunPrompts {
 public:
  // To be called before the request is sent.
  void Note(const std::string& key, Api api, const std::string& header);
  // Whether the key has begun one so just once: after the answer, whether it was the first.
  bool OnlyOnce(const std::string& key, Api api, const std::string& header) const;

 private:
  static std::string NameOf(const std::string& key, Api api, const std::string& header);

  mutable std::mutex mutex_;
  std::map<std::string, size_t> times_;  // guarded by mutex_
};

// What the clients of one round have in common.
struct Company {
  const RoundPlan& plan;
  const Subject& subject;
  const Subject* neighbour;  // null: there is none
  Oracle& oracle;
  Tally& tally;
  // Whoever soaks wants no more of it: what comes from now on is not judged.
  const std::atomic<bool>& interrupted;
  BegunPrompts begun = {};
  std::atomic<bool> stopped{false};
  std::atomic<bool> paused{false};
  std::atomic<size_t> active{0};  // clients with a request on its way
  std::mutex file_mutex = {};
  std::string folder = {};  // where what was wrong is written
};

// Waits until nobody has a request on its way, where `paused` or `stopped` is set.
void WaitUntilQuiet(const Company& company);

// Talks until `stopped`. One thread each.
void RunClient(Company* company, size_t number);

// So many requests at once, more than a queue takes. Returns when all have ended.
void Burst(Company* company, const Life& life, size_t requests, uint64_t seed);

// Connections opened side by side, one request on each, and closed: afterwards the server has as
// many threads as it will need. True: all were answered.
bool HoldConnections(const Life& life, size_t connections);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_CLIENT_H_
