// Canonical conversations: what a client changes from request to request without meaning it is
// taken out before anything is rendered, so that the same conversation makes the same prompt.
//
//   x-anthropic-billing-header: cc_version=2.1.329.298; cch=632e2;You are …   ->   You are …
//
// Pure functions; any thread.

#ifndef CAIRN_CHAT_CANONICAL_H_
#define CAIRN_CHAT_CANONICAL_H_

#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"

namespace cairn {

struct CanonicalOptions {
  // Leave the billing header in.
  bool keep_billing_header = false;
};

// What is left of a system text without the billing header in front of it: all of it when there is
// none, nothing when it is only the header. The header is its name and the `key=value;` items that
// follow on the same line, whatever they are called; client versions add to them. White space
// between the header and the rest goes with it.
std::string_view WithoutBillingHeader(std::string_view system_text);

// The same for a system prompt that comes as a list of blocks; blocks left empty are removed.
void DropBillingHeader(std::vector<std::string>* system_blocks);

// Takes the billing header out of system and developer messages, and out of the tools what is no
// part of them: `cache_control`, `id` and `metadata` beside a tool's or its function's own fields
// (properties of these names in a schema stay). A message left without text is removed, unless it
// is the only one. Tools that are no valid JSON are left for the renderer to complain about.
void MakeCanonical(const CanonicalOptions& options, Conversation* conversation);

}  // namespace cairn

#endif  // CAIRN_CHAT_CANONICAL_H_
