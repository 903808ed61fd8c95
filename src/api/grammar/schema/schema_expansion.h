// SchemaExpansion: reads the keywords of schemas that hold at once into drafts, one for each way to
// fit them. "anyOf", "if" and the like are choices; "not" is carried to the keywords below it.
//
// A keyword that cannot be read so is loosened: the drafts then allow more than the schemas, never
// less.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_EXPANSION_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_EXPANSION_H_

#include <string_view>
#include <vector>

#include "api/grammar/schema/schema_draft.h"
#include "api/grammar/schema/schema_terms.h"

namespace cairn {

class SchemaExpansion {
 public:
  // The most ways to fit the schemas of one value; beyond them, choices are loosened.
  static constexpr size_t kWaysMax = 2500;

  explicit SchemaExpansion(SchemaTerms* terms) : terms_(*terms) {}

  // Returns the ways to fit all of the terms; none if nothing does.
  std::vector<SchemaDraft> Ways(const std::vector<TermId>& all);
  // Whether it is certain that no value fits all of the terms.
  bool NothingFits(const std::vector<TermId>& all, size_t depth);

 private:
  // A way that is being read.
  struct Pending {
    TermId term = 0;
    int chain = -1;  // of the references that led to it
  };
  using Choice = std::vector<std::vector<TermId>>;
  struct Open {
    SchemaDraft draft = {};
    std::vector<Pending> pending = {};
    std::vector<TermId> seen = {};
    std::vector<std::pair<Choice, Pending>> choices = {};  // and what they come from
    bool dead = false;
    // It is not known of which members other keywords speak: several choices may hold at once.
    bool joins = false;
  };
  struct Link {
    TermId target = 0;
    int before = -1;
    size_t length = 0;  // links before it
  };
  // Reads one keyword.
  using Handler = void (*)(SchemaExpansion* self, std::string_view name, const Json& value);

  // `depth` choices are made already.
  void Settle(Open open, size_t depth, std::vector<SchemaDraft>* ways);
  void ReadPending(Open* open);
  void Read(const Pending& pending, Open* open);
  void ReadPositive(const Json& schema);
  void ReadNegated(const Json& schema);
  // The terms of one negated keyword, any of which may hold; nullopt if it cannot be negated.
  std::optional<Choice> Negated(std::string_view name, const Json& value, const Json& schema);
  std::optional<Choice> NegatedBound(std::string_view name, const Json& value, const Json& schema);
  static Handler HandlerOf(std::string_view name);

  // Keywords.
  void Reference(std::string_view keyword, const SchemaDocument::Target& target, const Json& value);
  void Ref(const Json& value);
  void DynamicRef(const Json& value);
  void Type(const Json& value);
  void Enum(const Json& value);
  void Const(const Json& value);
  void AllOf(const Json& value);
  void AnyOf(const Json& value);
  void OneOf(const Json& value);
  void NotOf(const Json& value);
  void If(const Json& value);
  void DependentRequired(const Json& value);
  void DependentSchemas(const Json& value);
  void Strings(std::string_view name, const Json& value);
  void Numbers(std::string_view name, const Json& value);
  void Lists(std::string_view name, const Json& value);
  void Objects(std::string_view name, const Json& value);
  void Required(const Json& value);

  // Helpers of keywords.
  bool IsList(std::string_view name, const Json& value);
  bool IsObject(std::string_view name, const Json& value);
  std::optional<size_t> Count(std::string_view name, const Json& value);
  void AddChoice(Choice choice) { open_->choices.emplace_back(std::move(choice), now_); }
  void Add(TermId term) { open_->pending.push_back({term, now_.chain}); }
  bool AreApart(const std::vector<TermId>& terms);
  // A schema that only this list or object fits.
  TermId ValueTerm(const Json& value);
  bool MembersAreApart(const std::vector<TermId>& terms);
  void Depends(const std::string& name, std::vector<TermId> then);

  SchemaTerms& terms_;
  std::vector<Link> chains_;
  size_t ways_left_ = 0;
  bool overflow_ = false;
  bool only_one_ = false;  // one term alone is expanded
  TermId only_ = 0;
  // While one schema is read.
  Open* open_ = nullptr;
  Pending now_ = {};
  size_t depth_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_EXPANSION_H_
