// CacheShares: divides the memory budget of the cache among the models that run.
//
//   one model runs      it has all of --cache-ram
//   another is started  it begins with half, and the first is asked to evict down to half
//   one ends            the other gets all again
//
// Models with a budget of their own in their presets keep it. A thread of this object asks the
// processes, by POST /cairn/cache/limit; their answers say how much memory weights and context
// need.

#ifndef CAIRN_FLEET_ROUTER_CHILDREN_CACHE_SHARES_H_
#define CAIRN_FLEET_ROUTER_CHILDREN_CACHE_SHARES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "fleet/router/children/model_set.h"
#include "http/keys.h"

namespace cairn {

// Returns the part of `budget_bytes` for each of `running` models.
size_t CacheShare(size_t budget_bytes, size_t running);
// Whether the model's flags set its budget.
bool HasOwnBudget(const ModelEntry& model);

// Thread-safe.
class CacheShares {
 public:
  // `models` must outlive this object. `budget_bytes` SIZE_MAX: no limit. `keys` may be null.
  CacheShares(ModelSet* models, size_t budget_bytes, std::shared_ptr<const ApiKeys> keys,
              LogSink log);
  ~CacheShares();
  CacheShares(const CacheShares&) = delete;
  CacheShares& operator=(const CacheShares&) = delete;

  // Has the shares looked at again, soon. Does not wait and calls nobody.
  void Update();

 private:
  void Run();
  void AskAll();
  // `bytes` nullopt: asks for the memory alone.
  void Ask(const ModelLease& lease, const ModelEntry* model, std::optional<size_t> bytes);

  ModelSet* const models_;
  const size_t budget_bytes_;
  const std::shared_ptr<const ApiKeys> keys_;
  const LogSink log_;
  std::map<uint64_t, std::optional<size_t>> told_;  // by process; the thread's
  Mutex mutex_;
  CondVar changed_;
  bool due_ GUARDED_BY(mutex_) = false;
  bool over_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_CHILDREN_CACHE_SHARES_H_
