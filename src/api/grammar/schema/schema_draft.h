// SchemaDraft: what several schemas that hold at once say of a value, keyword by keyword, before
// it is put together. Where schemas leave a choice (anyOf), each choice becomes a draft.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_DRAFT_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_DRAFT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/grammar/rules/number_range.h"
#include "api/grammar/schema/schema_terms.h"
#include "api/json.h"

namespace cairn {

// A set of JSON's types.
using TypeSet = uint8_t;
inline constexpr TypeSet kNullType = 1;
inline constexpr TypeSet kFalseType = 2;
inline constexpr TypeSet kTrueType = 4;
inline constexpr TypeSet kNumberType = 8;
inline constexpr TypeSet kStringType = 16;
inline constexpr TypeSet kArrayType = 32;
inline constexpr TypeSet kObjectType = 64;
inline constexpr TypeSet kAllTypes = 127;

struct SchemaDraft {
  // The keywords of one schema about an object's members, or a list's items.
  struct Members {
    TermId owner = 0;
    const Json* properties = nullptr;  // any of these may be absent
    const Json* patterns = nullptr;
    const Json* others = nullptr;
  };
  struct Items {
    TermId owner = 0;
    const Json* first = nullptr;  // a list of schemas
    std::string first_name = {};  // of its keyword
    const Json* rest = nullptr;
    std::string rest_name = {};
  };
  // A list of values, or one.
  struct Values {
    const Json* json = nullptr;
    bool one = false;
    size_t size() const { return one ? 1 : json->size(); }
    const Json& at(size_t i) const { return one ? *json : (*json)[i]; }
  };
  struct Pattern {
    const Json* text = nullptr;
    bool negated = false;
    TermId owner = 0;
    const char* keyword = "pattern";  // or "format"
  };

  TypeSet types = kAllTypes;
  std::vector<Values> values = {};      // each of them holds the value
  std::vector<Values> not_values = {};  // none of them does
  TermId not_values_owner = 0;
  NumberRange range = {};
  std::optional<TermId> multiple_owner = {};
  size_t length_min = 0;
  std::optional<size_t> length_max = {};
  TermId length_owner = 0;
  std::vector<Pattern> patterns = {};
  std::vector<Items> items = {};
  size_t items_min = 0;
  std::optional<size_t> items_max = {};
  std::optional<TermId> unique_owner = {};
  std::vector<Members> members = {};
  std::vector<std::pair<std::string, TermId>> required = {};
  std::vector<std::string> lacking = {};  // names of members that must not be there
  std::vector<TermId> names = {};         // propertyNames
  size_t members_min = 0;
  std::optional<size_t> members_max = {};
  TermId members_owner = 0;
  // The term that members must fit of which no other keyword says anything. Only where the node has
  // one schema.
  std::optional<TermId> unevaluated = {};
  TermId unevaluated_owner = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_DRAFT_H_
