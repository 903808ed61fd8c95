// Canonical conversations: removes parts that a client changes between requests without a meaning,
// before anything is rendered, so that the same conversation gives the same prompt.
//
//   x-anthropic-billing-header: cc_version=2.1.329.298; cch=632e2;You are …   ->   You are …
//
// Pure functions; any thread.

#ifndef CAIRN_CHAT_TEXT_CANONICAL_H_
#define CAIRN_CHAT_TEXT_CANONICAL_H_

#include <string>
#include <string_view>
#include <vector>

#include "chat/text/message.h"

namespace cairn {

class Json;

struct CanonicalOptions {
  // Keep the billing header.
  bool keep_billing_header = false;
};

// Returns a system text without the billing header at its front: all of it if there is none, an
// empty view if it is only the header. The header is its name and all `key=value;` items that
// follow on the same line, whatever their keys; client versions add to them. White space between
// the header and the rest is removed too.
std::string_view WithoutBillingHeader(std::string_view system_text);

// Does the same for a system prompt given as a list of blocks; removes blocks that become empty.
void DropBillingHeader(std::vector<std::string>* system_blocks);

// Removes the billing header from system and developer messages. Removes from the tools what does
// not belong to them: `cache_control`, `id` and `metadata` beside a tool's or its function's own
// fields (properties with these names in a schema stay). Removes a message left without text,
// unless it is the only one. Markers of media stay.
void MakeCanonical(const CanonicalOptions& options, Conversation* conversation);

// Returns the value as compact JSON with the keys of every object sorted. Values that differ in the
// order of keys alone have the same text, and no others have.
std::string SortedJsonText(const Json& json);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_CANONICAL_H_
