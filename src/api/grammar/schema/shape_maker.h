// ShapeMaker: puts a draft together into a shape. Asks for the nodes of the values inside it.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SHAPE_MAKER_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SHAPE_MAKER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/grammar/schema/schema_draft.h"
#include "api/grammar/schema/schema_nodes.h"
#include "api/grammar/schema/schema_terms.h"

namespace cairn {

class ShapeMaker {
 public:
  // `node_of` returns the node of values that fit all of the terms.
  ShapeMaker(SchemaTerms* terms, std::function<NodeId(const std::vector<TermId>&)> node_of)
      : terms_(*terms), node_of_(std::move(node_of)) {}

  SchemaShape Make(const SchemaDraft& draft);
  // Whether the terms are false, or nothing but true.
  bool IsFalse(const std::vector<TermId>& all) const;

 private:
  using Texts = std::shared_ptr<const Dfa>;
  struct Pattern {
    Texts texts;
    const Json* schema = nullptr;
    std::string text = {};
  };
  // The members of one schema, ready to be asked.
  struct Members {
    const SchemaDraft::Members* draft = nullptr;
    std::unordered_map<std::string_view, const Json*> properties = {};
    std::vector<Pattern> patterns = {};
    bool unclear = false;  // it has a pattern that cannot be read
  };

  // Names that no property has, and what their values must fit. `listed`: a keyword speaks of them.
  struct Region {
    Dfa names;
    std::vector<TermId> terms = {};
    bool listed = false;
  };

  // The automaton of a pattern or format; null if it cannot be made.
  Texts PatternTexts(const std::string& pattern);
  Texts FormatTexts(const std::string& format);
  void MakeStrings(const SchemaDraft& draft, SchemaShape* shape);
  void BoundLengths(const SchemaDraft& draft, SchemaShape* shape);
  void ListValues(const SchemaDraft& draft, SchemaShape* shape);
  void MakeNumbers(const SchemaDraft& draft, SchemaShape* shape);
  void MakeItems(const SchemaDraft& draft, SchemaShape* shape);
  std::vector<TermId> ItemTerms(const SchemaDraft& draft, size_t place);
  void MakeMembers(const SchemaDraft& draft, SchemaShape* shape);
  std::vector<Members> ReadMembers(const SchemaDraft& draft);
  // Returns what a member of that name must fit. `listed`: whether a keyword speaks of the name.
  std::vector<TermId> MemberTerms(const std::vector<Members>& members, const std::string& name,
                                  bool* listed);
  bool SplitRegion(const Members& one, const Region& region, std::vector<Region>* split);
  void MakeOthers(const SchemaDraft& draft, const std::vector<Members>& members,
                  const std::vector<std::string>& named, const Texts& names, SchemaShape* shape);
  // The texts of propertyNames; null if all are allowed.
  Texts NamesOf(const SchemaDraft& draft);
  static TermId OwnerOf(const SchemaDraft& draft, const std::vector<Members>& members) {
    return members.empty() ? draft.members_owner : members[0].draft->owner;
  }
  TermId TermOf(const Members& members, const Json& schema, std::string segment) {
    return terms_.In(members.draft->owner, schema, std::move(segment));
  }

  SchemaTerms& terms_;
  const std::function<NodeId(const std::vector<TermId>&)> node_of_;
  std::map<std::string, Texts> known_;  // by "p" and a pattern, or "f" and a format
};

// Returns the pattern of a string's "format", for the formats that are enforced: "date", "time",
// "date-time", "uuid".
std::optional<std::string> PatternOfFormat(std::string_view format);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SHAPE_MAKER_H_
