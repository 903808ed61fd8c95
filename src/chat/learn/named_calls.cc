#include "chat/learn/named_calls.h"

namespace cairn {

const LearnedCalls& MistralSyntax() {
  static const auto* const calls = new LearnedCalls{.call_open = "[TOOL_CALLS]",
                                                    .name_end = "[ARGS]",
                                                    .several = true,
                                                    .id = LearnedCalls::Id::kBehindName,
                                                    .id_delimiter = "[CALL_ID]"};
  return *calls;
}

}  // namespace cairn
