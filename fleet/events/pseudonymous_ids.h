// PseudonymousIds: the ids of tokens that tell nothing about them without a secret
// (tree/token_ids.h). Servers with one secret publish equal ids for equal prompts.
//
// The key is HMAC-SHA256 (secret, "cairn kv events 1"), its first 16 bytes.
//
// Threads: any.

#ifndef CAIRN_FLEET_EVENTS_PSEUDONYMOUS_IDS_H_
#define CAIRN_FLEET_EVENTS_PSEUDONYMOUS_IDS_H_

#include <string_view>

#include "tree/token_ids.h"

namespace cairn {

TokenIds PseudonymousIds(std::string_view secret);

}  // namespace cairn

#endif  // CAIRN_FLEET_EVENTS_PSEUDONYMOUS_IDS_H_
