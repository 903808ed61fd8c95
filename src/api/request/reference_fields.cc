#include "api/request/reference_fields.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace cairn {
namespace {

struct Unsupported {
  Reference reference = Reference::kChat;
  const char* field = "";
  const char* why = "";
};

constexpr std::array<Unsupported, 15> kUnsupported = {{
    {Reference::kChat, "audio", "this server's answers are texts"},
    {Reference::kChat, "web_search_options", "this server searches nothing; offer a tool for it"},
    {Reference::kChat, "moderation", "this server moderates nothing"},
    {Reference::kResponses, "moderation", "this server moderates nothing"},
    {Reference::kResponses, "background_options", "a request is answered while its client waits"},
    {Reference::kResponses, "background", "a request is answered while its client waits"},
    {Reference::kResponses, "conversation", "continue a response by 'previous_response_id'"},
    {Reference::kResponses, "prompt", "this server stores no prompts; send 'instructions'"},
    {Reference::kResponses, "context_management",
     "this server shortens no conversation by request; send a shorter one"},
    {Reference::kResponses, "top_logprobs",
     "responses have no log-probabilities here; /v1/chat/completions has them"},
    {Reference::kMessages, "compaction",
     "this server makes no summaries of its own; ask for one in a message"},
    {Reference::kMessages, "thread", "this server keeps no conversations; send all messages"},
    {Reference::kMessages, "container", "this server runs no code; offer a tool for it"},
    {Reference::kMessages, "mcp_servers",
     "this server connects to no others; let the client call their tools"},
    {Reference::kMessages, "fallbacks", "this server has no other model to answer with"},
}};

bool IsNothing(const Json& value) {
  if (value.is_null() || value == Json(false) || value == Json(0) || value == Json("")) return true;
  return (value.is_array() || value.is_object()) && value.empty();
}

bool Lists(const Json* list, std::string_view text) {
  return list != nullptr && list->is_array() &&
         std::find(list->begin(), list->end(), Json(text)) != list->end();
}

}  // namespace

ApiResult<void> RefuseUnsupported(const Json& body, Reference reference) {
  FieldReader fields(body, "");
  for (const Unsupported& one : kUnsupported) {
    const Json* const value = one.reference == reference ? fields.Find(one.field) : nullptr;
    if (value == nullptr || IsNothing(*value)) continue;
    fields.Fail(one.field, std::string("absent: ") + one.why);
  }
  if (reference == Reference::kChat && Lists(fields.Find("modalities"), "audio")) {
    fields.Fail("modalities", "[\"text\"]: this server's answers are texts");
  }
  if (reference == Reference::kResponses &&
      Lists(fields.Find("include"), "message.output_text.logprobs")) {
    fields.Fail("include",
                "without 'message.output_text.logprobs': responses have no log-probabilities "
                "here; /v1/chat/completions has them");
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return {};
}

}  // namespace cairn
