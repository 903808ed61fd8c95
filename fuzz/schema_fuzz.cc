// JSON schemas as grammars: a schema is refused or becomes a grammar of bounded size that parses,
// and every answer that the grammar allows is JSON.

#include <string>
#include <string_view>

#include "api/grammar/json_schema.h"
#include "api/json.h"
#include "base/check.h"
#include "chat/text/limited_json.h"
#include "engine/grammar/grammar.h"
#include "fuzz/input.h"
#include "fuzz/json_mutator.h"

namespace cairn {
namespace {

constexpr size_t kAnswerBytesMax = 200;
// As long as a grammar may be.
constexpr size_t kGrammarBytesMax = Grammar::kTextBytesMax;

// Walks the grammar by one allowed byte at a time. It tries JSON's structural bytes first, those
// that close something before the others, then any printable byte.
std::string AnswerOf(GrammarMatcher* matcher, uint8_t first) {
  constexpr std::string_view kWanted = "]}\"0:, {[atnfre1-\\.u";
  std::string answer;
  for (size_t i = 0; i < kAnswerBytesMax && !matcher->MayEnd(); ++i) {
    bool found = false;
    for (size_t j = 0; j < kWanted.size() + 95 && !found; ++j) {
      const size_t place = j + (i == 0 ? first : 0);
      const char byte = j < kWanted.size() ? kWanted[place % kWanted.size()]
                                           : static_cast<char>(' ' + (place % 95));
      found = matcher->Allows({&byte, 1});
      if (!found) continue;
      matcher->Accept({&byte, 1});
      answer += byte;
    }
    if (!found) break;
  }
  return answer;
}

void CheckSchema(const Json& schema, uint8_t first) {
  const auto text = GrammarOfSchema(schema, "schema");
  if (!text) {
    CHECK(text.error().status == 400);
    CHECK(!text.error().message.empty());
    return;
  }
  CHECK(text->size() <= kGrammarBytesMax);
  const auto grammar = Grammar::Parse(*text);
  // A grammar that is too large or too ambiguous is refused here.
  if (!grammar) return;
  GrammarMatcher matcher(*grammar);
  const std::string answer = AnswerOf(&matcher, first);
  if (matcher.MayEnd() && !answer.empty())
    CHECK(!Json::parse(answer, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace cairn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cairn::fuzz::FuzzInput input(data, size);
  const uint8_t first = input.Byte();
  const auto schema = cairn::ParseLimitedJson(input.RestText(), "schema");
  if (schema) cairn::CheckSchema(*schema, first);
  return 0;
}
