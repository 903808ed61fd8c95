// Translates schemas and says which instances their grammars allow: the part of `make schema-bench`
// and `make schema-suite` that is not Python.
//
// Reads a line {"schema": …, "instances": ["JSON text", …]} at a time and answers each with a line
//   {"loosened": [places], "results": [true, …], "compile_us": 120, "bytes": 800}
// or {"error": "…", "field": "schema.type"} if the schema is refused. An instance may be in another
// order of properties than the grammar's.

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/grammar/json_schema.h"
#include "api/json.h"
#include "engine/grammar/grammar.h"

namespace cairn {
namespace {

// So many orders of properties are tried for one instance.
constexpr size_t kTriesMax = 2000;

// The names of an object's properties, and the place of each.
using Names = std::map<std::string, size_t>;

// Adds the names of each "properties" of a schema.
void AddNames(const Json& schema, std::vector<Names>* all) {
  if (!schema.is_structured()) return;
  for (const auto& [keyword, value] : schema.items()) {
    if (keyword == "properties" && value.is_object()) {
      Names& names = all->emplace_back();
      for (const auto& [name, property] : value.items()) names.emplace(name, names.size());
    }
    AddNames(value, all);
  }
}

// Finds an order of the properties in which the grammar allows a value.
class OrderSearch {
 public:
  OrderSearch(std::shared_ptr<const Grammar> grammar, const std::vector<Names>* named)
      : grammar_(std::move(grammar)), named_(*named) {}

  bool Allows(const std::string& text) const {
    GrammarMatcher matcher(grammar_);
    if (!matcher.Allows(text)) return false;
    matcher.Accept(text);
    return matcher.MayEnd();
  }
  bool AllowsInSomeOrder(const Json& value) {
    for (const bool prunes : {true, false}) {
      prunes_ = prunes;
      tries_ = 0;
      const bool found = Put(value, GrammarMatcher(grammar_),
                             [](const GrammarMatcher& end) { return end.MayEnd(); });
      if (found) return true;
    }
    return false;
  }

 private:
  // The text that follows a value; whether it can be written there.
  using Then = std::function<bool(const GrammarMatcher& place)>;

  static bool Take(std::string_view text, GrammarMatcher place, const Then& then) {
    if (!place.Allows(text)) return false;
    place.Accept(text);
    return then(place);
  }

  bool Put(const Json& value, const GrammarMatcher& place, const Then& then) {
    if (value.is_object()) {
      std::vector<std::string> names;
      for (const auto& [name, item] : value.items()) names.push_back(name);
      PutInOrder(&names);
      return Take("{", place, [&](const GrammarMatcher& inside) {
        return PutMembers(value, names, inside, then);
      });
    }
    if (!value.is_array()) return Take(ToText(value), place, then);
    return Take("[", place,
                [&](const GrammarMatcher& inside) { return PutItems(value, 0, inside, then); });
  }

  bool PutItems(const Json& list, size_t at, const GrammarMatcher& place, const Then& then) {
    if (at == list.size()) return Take("]", place, then);
    const Then item = [&](const GrammarMatcher& before) {
      return Put(list[at], before, [&](const GrammarMatcher& behind) {
        return PutItems(list, at + 1, behind, then);
      });
    };
    return at == 0 ? item(place) : Take(",", place, item);
  }

  // A name that may come next, and may not behind another one, can mostly not come at all then.
  // Where one name requires others in an order, it can, behind those.
  bool PutMembers(const Json& object, const std::vector<std::string>& names,
                  const GrammarMatcher& place, const Then& then) {
    if (names.empty()) return Take("}", place, then);
    const auto key = [](bool first, const std::string& name) {
      return (first ? "" : ",") + ToText(Json(name)) + ":";
    };
    const bool first = names.size() == object.size();
    GrammarMatcher here = place;
    std::vector<std::string> next;
    for (const std::string& name : names) {
      if (here.Allows(key(first, name))) next.push_back(name);
    }
    for (const std::string& name : next) {
      if (++tries_ > kTriesMax) return false;
      std::vector<std::string> rest = names;
      rest.erase(std::find(rest.begin(), rest.end(), name));
      const bool found = Take(key(first, name), place, [&](const GrammarMatcher& before) {
        return Put(object[name], before, [&](const GrammarMatcher& behind) {
          GrammarMatcher there = behind;
          const bool all =
              !prunes_ || std::all_of(next.begin(), next.end(), [&](const std::string& other) {
                return other == name || there.Allows(key(false, other));
              });
          return all && PutMembers(object, rest, behind, then);
        });
      });
      if (found) return true;
    }
    return false;
  }

  // The order of the properties that have most of the names is tried first.
  void PutInOrder(std::vector<std::string>* names) const {
    const Names* best = nullptr;
    size_t most = 0;
    for (const Names& one : named_) {
      const auto count = static_cast<size_t>(
          std::count_if(names->begin(), names->end(),
                        [&](const std::string& name) { return one.contains(name); }));
      if (count <= most) continue;
      most = count;
      best = &one;
    }
    if (best == nullptr) return;
    const auto place = [&](const std::string& name) {
      const auto found = best->find(name);
      return found == best->end() ? best->size() : found->second;
    };
    std::stable_sort(names->begin(), names->end(), [&](const auto& left, const auto& right) {
      return place(left) < place(right);
    });
  }

  const std::shared_ptr<const Grammar> grammar_;
  const std::vector<Names>& named_;
  bool prunes_ = true;
  size_t tries_ = 0;
};

Json Checked(const Json& line) {
  Loosened loosened;
  // Time of the processor, which other programs do not change.
  const std::clock_t begin = std::clock();
  const auto rules = GrammarOfSchema(line["schema"], "schema", &loosened);
  if (!rules) return {{"error", rules.error().message}, {"field", rules.error().field}};
  const auto grammar = Grammar::Parse(*rules);
  const std::clock_t end = std::clock();
  if (!grammar) return {{"error", "GRAMMAR " + grammar.error().message}, {"rules", *rules}};
  Json results = Json::array();
  std::vector<Names> named;
  AddNames(line["schema"], &named);
  for (const Json& instance : line["instances"]) {
    OrderSearch search(*grammar, &named);
    bool allowed = search.Allows(instance.text());
    if (!allowed) {
      const Json value = Json::parse(instance.text(), nullptr, false);
      allowed = !value.is_discarded() && search.AllowsInSomeOrder(value);
    }
    results.push_back(allowed);
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
