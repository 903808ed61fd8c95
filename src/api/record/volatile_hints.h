// VolatileHints: detects a value that changes in every prompt of a client, and logs once which
// `--volatile` or `--pin-volatile` would help. One change may be an edit; a second one is most
// likely a clock or a counter.
//
// Threads: one at a time.

#ifndef CAIRN_API_RECORD_VOLATILE_HINTS_H_
#define CAIRN_API_RECORD_VOLATILE_HINTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/record/explanation.h"
#include "cache/checkpoint_cache.h"

namespace cairn {

class VolatileHints {
 public:
  // Maximum number of tracked values; later ones are ignored.
  static constexpr size_t kValuesMax = 1024;

  // The server runs with `--volatile late`.
  void SetTellsLate(bool tells_late) { tells_late_ = tells_late; }
  // Returns a line for the log, once for each value of a client. The line contains no text of the
  // prompt; a pattern that quotes the prompt is in the explanation of `request_id`.
  std::optional<std::string> Note(NamespaceId name_space, std::string_view request_id,
                                  const Explanation& explanation);

 private:
  bool tells_late_ = false;
  std::unordered_map<uint64_t, size_t> changes_;  // by namespace, message and pattern
};

}  // namespace cairn

#endif  // CAIRN_API_RECORD_VOLATILE_HINTS_H_
