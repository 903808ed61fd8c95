// Grammars of clients: each is refused, or matches in bounded time; and a text is allowed as a
// whole exactly if it is allowed in parts.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "engine/grammar/grammar.h"
#include "fuzz/input.h"

namespace cairn {
namespace {

void CheckText(const std::shared_ptr<const Grammar>& grammar, std::string_view text,
               size_t piece_bytes) {
  GrammarMatcher whole(grammar);
  GrammarMatcher pieces(grammar);
  const bool allowed = whole.Allows(text);
  bool all = true;
  for (size_t at = 0; all && at < text.size(); at += piece_bytes) {
    const std::string_view piece = text.substr(at, piece_bytes);
    all = pieces.Allows(piece);
    if (all) pieces.Accept(piece);
  }
  // The step limit is per call, so parts may get further than the whole, but never less far.
  if (allowed) CHECK(all);
  if (!allowed || text.empty()) return;
  whole.Accept(text);
  CHECK(whole.MayEnd() == pieces.MayEnd());
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cairn;  // NOLINT: the target begins here
  fuzz::FuzzInput input(data, size);
  const size_t piece_bytes = 1 + input.Below(4);
  const std::string_view text = input.Line();
  const auto grammar = Grammar::Parse(input.RestText());
  if (!grammar) {
    CHECK(grammar.error().code == ErrorCode::kInvalidArgument);
    CHECK(!grammar.error().message.empty());
    return 0;
  }
  CheckText(*grammar, text, piece_bytes);
  return 0;
}
