// Translates schemas and says which instances their grammars allow: the part of `make schema-bench`
// and `make schema-suite` that is not Python.
//
// Reads a line {"schema": …, "instances": ["JSON text", …]} at a time and answers each with a line
//   {"loosened": [places], "results": [true, …], "compile_us": 120, "bytes": 800}
// or {"error": "…", "field": "schema.type"} if the schema is refused. An instance may be in another
// order of properties than the grammar's; its result is null if there are too many orders to try.
// A line may have a "grammar" in GBNF, which another program made of a schema, instead of "schema".

#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/grammar/json_schema.h"
#include "api/json.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/grammar_states.h"

namespace cairn {
namespace {

// So many members are written, at most, to find an order in which one instance is allowed.
constexpr size_t kMembersMax = 60000;

// Tells whether a grammar allows a value, with the properties of its objects in any order.
class OrderSearch {
 public:
  explicit OrderSearch(const std::shared_ptr<const Grammar>& grammar) : states_(grammar) {}

  // Nothing if there are too many orders to try.
  std::optional<bool> Allows(const Json& value) {
    std::optional<bool> allowed;
    for (const bool prunes : {true, false}) {
      prunes_ = prunes;
      known_.clear();
      members_ = 0;
      size_t steps = 0;
      const Ends ends = EndsOf(value, states_.Root(&steps));
      const bool found =
          std::any_of(ends.begin(), ends.end(), [&](WaysId end) { return states_.MayEnd(end); });
      if (found) return true;
      allowed = members_ > kMembersMax ? std::nullopt : std::optional(false);
    }
    return allowed;
  }

 private:
  using WaysId = GrammarStates::WaysId;
  // Where the grammar is behind a text, for each way to write it.
  using Ends = std::set<WaysId>;

  WaysId Behind(WaysId at, std::string_view text) {
    size_t steps = 0;
    for (size_t i = 0; i < text.size() && at != GrammarStates::kNone;) {
      const auto lead = static_cast<uint8_t>(text[i++]);
      uint32_t character = lead;
      if (lead >= 0xC0) character = lead & (lead >= 0xF0 ? 0x07U : lead >= 0xE0 ? 0x0FU : 0x1FU);
      for (; i < text.size() && (static_cast<uint8_t>(text[i]) & 0xC0U) == 0x80; ++i) {
        character = character << 6U | (static_cast<uint8_t>(text[i]) & 0x3FU);
      }
      at = states_.Next(at, character, &steps);
    }
    return at;
  }

  Ends EndsOf(const Json& value, WaysId at) {
    if (at == GrammarStates::kNone) return {};
    const auto known = known_.find({&value, at});
    if (known != known_.end()) return known->second;
    Ends ends;
    if (value.is_object()) {
      ends = EndsOfObject(value, at);
    } else if (value.is_array()) {
      ends = {Behind(at, "[")};
      for (size_t i = 0; i < value.size() && !ends.empty(); ++i) {
        Ends next;
        for (const WaysId end : ends) {
          next.merge(EndsOf(value[i], i == 0 ? end : Behind(end, ",")));
        }
        ends = std::move(next);
      }
      ends = AllBehind(ends, "]");
    } else {
      ends = {Behind(at, ToText(value))};
    }
    ends.erase(GrammarStates::kNone);
    known_.emplace(std::pair(&value, at), ends);
    return ends;
  }

  Ends AllBehind(const Ends& ends, std::string_view text) {
    Ends behind;
    for (const WaysId end : ends) behind.insert(Behind(end, text));
    return behind;
  }

  // Goes on from all sets of members that are written to those with one more.
  Ends EndsOfObject(const Json& object, WaysId at) {
    std::map<std::vector<bool>, Ends> written = {
        {std::vector<bool>(object.size()), {Behind(at, "{")}}};
    for (size_t count = 0; count < object.size(); ++count) {
      std::map<std::vector<bool>, Ends> next;
      for (const auto& [names, ends] : written) {
        for (auto& [place, behind] : NextMembers(object, names, ends)) {
          std::vector<bool> more = names;
          more[place] = true;
          next[std::move(more)].merge(behind);
        }
      }
      written = std::move(next);
    }
    return written.empty() ? Ends() : AllBehind(written.begin()->second, "}");
  }

  // The members that may come next, by their places, with where each leads.
  std::map<size_t, Ends> NextMembers(const Json& object, const std::vector<bool>& names,
                                     const Ends& ends) {
    std::map<size_t, Ends> found;
    std::map<size_t, std::string> keys;
    const bool first = std::find(names.begin(), names.end(), true) == names.end();
    size_t place = 0;
    for (const auto& [name, value] : object.items()) {
      const size_t here = place++;
      if (names[here]) continue;
      const std::string key = ToText(Json(name)) + ":";
      Ends behind;
      for (const WaysId end : ends) {
        if (++members_ > kMembersMax) return {};
        behind.merge(EndsOf(value, Behind(end, first ? key : "," + key)));
      }
      if (behind.empty()) continue;
      keys.emplace(here, "," + key);
      found.emplace(here, std::move(behind));
    }
    if (!prunes_) return found;
    // A name that may come here, and may not behind another one, can mostly not come at all then.
    std::map<size_t, Ends> kept;
    for (const auto& [here, behind] : found) {
      const bool all = std::all_of(keys.begin(), keys.end(), [&](const auto& other) {
        return other.first == here || std::any_of(behind.begin(), behind.end(), [&](WaysId end) {
                 return Behind(end, other.second) != GrammarStates::kNone;
               });
      });
      if (!all) continue;
      kept.emplace(here, behind);
    }
    return kept.empty() ? found : kept;
  }

  GrammarStates states_;
  std::map<std::pair<const Json*, WaysId>, Ends> known_;
  size_t members_ = 0;
  bool prunes_ = true;
};

// Whether the grammar allows the text as it is.
bool AllowsText(const std::shared_ptr<GrammarStates>& states, const std::string& text) {
  GrammarMatcher matcher(states);
  if (!matcher.Allows(text)) return false;
  matcher.Accept(text);
  return matcher.MayEnd();
}

ApiResult<std::string> RulesOfLine(const Json& line, Loosened* loosened) {
  if (line.contains("grammar")) return line["grammar"].text();
  return GrammarOfSchema(line["schema"], "schema", loosened);
}

Json Checked(const Json& line) {
  Loosened loosened;
  // Time of the processor, which other programs do not change.
  const std::clock_t begin = std::clock();
  const auto rules = RulesOfLine(line, &loosened);
  if (!rules) return {{"error", rules.error().message}, {"field", rules.error().field}};
  const auto grammar = Grammar::Parse(*rules);
  const std::clock_t end = std::clock();
  if (!grammar) return {{"error", "GRAMMAR " + grammar.error().message}, {"rules", *rules}};
  Json results = Json::array();
  const auto states = std::make_shared<GrammarStates>(*grammar);
  OrderSearch search(*grammar);
  for (const Json& instance : line["instances"]) {
    if (AllowsText(states, instance.text())) {
      results.push_back(true);
      continue;
    }
    const Json value = Json::parse(instance.text(), nullptr, false);
    const std::optional<bool> allowed = value.is_discarded() ? false : search.Allows(value);
    results.push_back(allowed ? Json(*allowed) : Json());
  }
  Json places = Json::array();
  for (const std::string& place : loosened) places.push_back(place);
  Json answer = {{"bytes", rules->size()}};
  constexpr int64_t kMicroseconds = 1'000'000;
  answer["compile_us"] = int64_t{end - begin} * kMicroseconds / CLOCKS_PER_SEC;
  answer["loosened"] = std::move(places);
  answer["results"] = std::move(results);
  if (line.contains("rules")) answer["rules"] = *rules;
  return answer;
}

}  // namespace
}  // namespace cairn

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    const cairn::Json read = cairn::Json::parse(line, nullptr, false);
    if (!read.is_object()) return 1;
    std::cout << cairn::ToText(cairn::Checked(read)) << std::endl;
  }
  return 0;
}
