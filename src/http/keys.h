// API keys: the set of keys, how a client presents one, and how keys are compared.

#ifndef CAIRN_HTTP_KEYS_H_
#define CAIRN_HTTP_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

// A server knows fewer keys than this in its life: their numbers are namespaces of the cache.
inline constexpr uint64_t kApiKeysMax = uint64_t{1} << 20U;

// Returns whether `a` and `b` are equal. The time depends on their lengths only, so that a key
// cannot be found byte by byte from response times.
bool ConstantTimeEquals(std::string_view a, std::string_view b);

// Returns the text after "Bearer " in an Authorization header, or an empty view if it is of another
// kind.
std::string_view BearerToken(std::string_view authorization);

// The keys of a server. They can be replaced while it serves. Each key keeps its number for the
// life of the process, and no other key ever gets that number, even after the key was removed: what
// was stored under a number belongs to that key alone. Thread-safe.
class ApiKeys {
 public:
  // Counted from 1; 0 stands for no key.
  using Number = uint32_t;
  struct Known {
    Number number = 0;
    std::string text;
    // Identifies the key in what outlives the process: a hash of the key, unique among the keys.
    uint64_t saved_name = 0;
  };

  // The keys that a server accepts. Those of `admins` may also do what acts on all clients; they
  // need not be among `keys`.
  struct Texts {
    std::vector<std::string> keys;
    std::vector<std::string> admins = {};
    bool operator==(const Texts&) const = default;
  };

  // Errors as for Replace().
  static Result<std::shared_ptr<ApiKeys>> Make(const Texts& texts);
  static Result<std::shared_ptr<ApiKeys>> Make(const std::vector<std::string>& keys) {
    return Make(Texts{keys});
  }

  // Assigns numbers to keys that have none yet, without accepting them. Returns kInvalidArgument if
  // a key is empty or has bytes that no header can carry; the message does not contain the key.
  Status Know(const Texts& texts);
  // Replaces the accepted keys. Errors as for Know(); on an error nothing changes.
  Status Replace(const Texts& texts);
  Status Replace(const std::vector<std::string>& keys) { return Replace(Texts{keys}); }

  // Returns the number of the key that a client sent, or 0 if it is not accepted. Always compares
  // with every key.
  Number Match(std::string_view given) const;
  bool IsAdmin(Number number) const;
  // Whether it is an admin's, or the only accepted key: there are no clients of others then.
  bool IsAdminOrOnly(Number number) const;
  bool has_admin() const;
  // Returns an accepted key, an admin's if there is one; empty if there are none.
  std::string AnyText() const;
  size_t size() const;
  bool empty() const { return size() == 0; }
  // All keys that ever had a number.
  std::vector<Known> known() const;

 private:
  struct Key {
    Known known;
    std::string shown;  // the key as the HTTP library returns header values: percent-decoded
    bool valid = false;
    bool is_admin = false;  // if valid
  };
  Status KnowLocked(const std::vector<std::string>& keys) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::vector<Key> keys_ GUARDED_BY(mutex_);  // number n is at n - 1
};

// KeyLoad: counts the requests in progress of each key. Thread-safe.
class KeyLoad {
 public:
  // Counts one more request until the result is released, which may be after this object's end.
  // Returns null if `max` requests of the key are in progress already (0: no limit).
  std::shared_ptr<void> Enter(ApiKeys::Number key, size_t max);

 private:
  struct Counts {
    Mutex mutex;
    std::map<ApiKeys::Number, size_t> at_work GUARDED_BY(mutex);
  };
  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace cairn

#endif  // CAIRN_HTTP_KEYS_H_
