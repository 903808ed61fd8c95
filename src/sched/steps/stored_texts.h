// StoredTexts: makes a namespace's StoredText from its prefix cache and the slots, and again after
// two seconds.
//
// Threads: the context thread.

#ifndef CAIRN_SCHED_STEPS_STORED_TEXTS_H_
#define CAIRN_SCHED_STEPS_STORED_TEXTS_H_

#include <map>
#include <memory>
#include <vector>

#include "base/provenance.h"
#include "base/tokens.h"
#include "sched/draft/stored_text.h"
#include "sched/slots/slot_pool.h"

namespace cairn {

class StoredTexts {
 public:
  // `pool` must outlive this object.
  explicit StoredTexts(const SlotPool* pool) : pool_(pool) {}

  std::shared_ptr<const StoredText> Of(NamespaceId name_space);

 private:
  struct Made {
    std::shared_ptr<const StoredText> text;
    double made_ms = 0;
  };

  std::vector<Tokens> TextsOf(NamespaceId name_space) const;

  const SlotPool* const pool_;
  std::map<NamespaceId, Made> made_;
};

}  // namespace cairn

#endif  // CAIRN_SCHED_STEPS_STORED_TEXTS_H_
