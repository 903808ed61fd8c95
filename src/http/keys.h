// API keys: which there are, how a client shows one and how it is compared.

#ifndef CAIRN_HTTP_KEYS_H_
#define CAIRN_HTTP_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

// Whether `a` and `b` are the same bytes. The time taken depends on their lengths only, so that
// nobody can find a key byte by byte with a stopwatch.
bool ConstantTimeEquals(std::string_view a, std::string_view b);

// What follows "Bearer " in an Authorization header; empty when it is of another kind.
std::string_view BearerToken(std::string_view authorization);

// The keys of a server. They can be replaced while it serves; each keeps its number for as long as
// the process lives, and no other key ever gets it, not even when the first was taken away: what
// was stored under a number is that key's own. Thread-safe.
class ApiKeys {
 public:
  // From 1 on; 0 is having none.
  using Number = uint32_t;
  struct Known {
    Number number = 0;
    std::string text;
    // By which what outlives the process knows it again: a hash of the key, no two the same.
    uint64_t saved_name = 0;
  };

  // Errors as Replace()'s.
  static Result<std::shared_ptr<ApiKeys>> Make(const std::vector<std::string>& keys);

  // Gives numbers to those that have none yet, without letting anybody in. kInvalidArgument: one is
  // empty or has bytes that no header can carry; the message does not hold it.
  Status Know(const std::vector<std::string>& keys);
  // From now on these are the keys. Errors as Know()'s; then all stays as it was.
  Status Replace(const std::vector<std::string>& keys);

  // Of the key a client has shown, 0 when it is none. Always looks at every key.
  Number Match(std::string_view given) const;
  size_t size() const;
  bool empty() const { return size() == 0; }
  // All that ever had a number.
  std::vector<Known> known() const;

 private:
  struct Key {
    Known known;
    std::string shown;  // as the HTTP library hands out header values: percent-decoded
    bool valid = false;
  };
  Status KnowLocked(const std::vector<std::string>& keys);

  mutable std::mutex mutex_;
  std::vector<Key> keys_;  // guarded by mutex_; number n is at n - 1
};

// Who is being answered: how many requests of each key are at work. Thread-safe.
class KeyLoad {
 public:
  // One more, until what is returned is let go, which may be after this object's end. Null: there
  // are `max` of that key already (0: no limit).
  std::shared_ptr<void> Enter(ApiKeys::Number key, size_t max);

 private:
  struct Counts {
    std::mutex mutex;
    std::map<ApiKeys::Number, size_t> at_work;  // guarded by mutex
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace cairn

#endif  // CAIRN_HTTP_KEYS_H_
