// SchemaTerms: the schemas of one document, each as it stands or negated, as numbers. A value that
// has to fit several schemas at once is described by a list of such numbers.
//
// It also keeps what was loosened, and the first mistake. Used by one thread.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_TERMS_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_TERMS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/grammar/pattern/dfa.h"
#include "api/grammar/schema/schema_document.h"
#include "api/json.h"

namespace cairn {

using TermId = uint32_t;

// For all automata and choices of one schema; as many again for its rules.
inline constexpr size_t kSchemaStepsMax = 20'000'000;

struct Term {
  const Json* schema = nullptr;
  bool negated = false;
  // Not of the client: it may have the keywords "lacks" and "notPattern", "notValues", which no
  // schema has.
  bool made = false;
  TermId parent = 0;  // that it stands in
  std::string segment = {};
};

class SchemaTerms {
 public:
  // `field` names the schema in errors. The schema outlives this.
  SchemaTerms(const Json& root, std::string field);

  TermId root() const { return 0; }
  const Term& operator[](TermId id) const { return terms_[id]; }
  // A schema that stands in the one of `parent`, at `segment` of it: "properties.a".
  TermId In(TermId parent, const Json& schema, std::string segment, bool negated = false);
  // The opposite of a term.
  TermId Not(TermId id);
  // A schema that is not of the client, in the place of `parent`.
  TermId Made(TermId parent, Json schema);
  // Makes the value at `schema`, a part of a made schema, stand for a term.
  void StandFor(const Json& schema, TermId id) { stand_ins_[&schema] = id; }

  // Returns the place for people: "schema.properties.a".
  std::string PlaceOf(TermId id) const;

  // Notes that a keyword of the term is not enforced; without one, the term.
  void Loosen(TermId id, std::string_view keyword);
  void Fail(TermId id, std::string_view keyword, const std::string& expected);
  // While it is set, nothing is noted.
  void set_quiet(bool quiet) { quiet_ = quiet; }

  const std::set<std::string>& loosened() const { return loosened_; }
  const std::optional<ApiError>& error() const { return error_; }
  const SchemaDocument& document() const { return document_; }
  WorkBudget& budget() { return budget_; }
  // Takes room for something that a grammar repeats so often. Returns false if there is none: a
  // repetition is written out.
  bool TakeCount(size_t count);
  // The same for states of the automata of names that no property has. `many`: not each with the
  // escapes of its characters, which take most of the room.
  bool TakeNameStates(size_t count, bool many);

 private:
  static constexpr size_t kLoosenedMax = 100;

  const std::string field_;
  const SchemaDocument document_;
  WorkBudget budget_;
  size_t counts_left_ = 30000;
  size_t name_states_left_ = 2000;
  size_t many_name_states_left_ = 10000;
  bool quiet_ = false;
  std::deque<Term> terms_;
  std::map<std::pair<const Json*, bool>, TermId> known_;
  std::deque<Json> made_;
  std::unordered_map<const Json*, TermId> stand_ins_;
  std::set<std::string> loosened_;
  std::optional<ApiError> error_;
};

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_TERMS_H_
