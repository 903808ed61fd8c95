// SchemaNodes: a schema in its normal form. A node is a set of JSON values: any of its shapes, each
// of which says for every type on its own which values are in it. Nodes refer to each other, so
// recursive schemas are circles.
//
//   {"anyOf": [{"type": ["integer", "null"]}, {"$ref": "#/$defs/pair"}]}
//     ->  node 2: shape {null, numbers: integers}, shape {list: nodes 3, 4}
//
// The normal form holds every value that the schema allows. What it cannot say is loosened, and
// noted (SchemaTerms). Constant once it is made; any thread.

#ifndef CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_NODES_H_
#define CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_NODES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/api_error.h"
#include "api/grammar/pattern/dfa.h"
#include "api/grammar/rules/number_range.h"
#include "api/grammar/schema/schema_draft.h"

namespace cairn {

// Lengths of strings up to this are put together with a pattern.
inline constexpr size_t kJoinedLengthMax = 3000;

using NodeId = uint32_t;
inline constexpr NodeId kNoValue = 0;   // the node of nothing
inline constexpr NodeId kAnyValue = 1;  // the node of all values

struct SchemaShape {
  struct Property {
    std::string name;
    NodeId value = kAnyValue;
    bool required = false;
  };
  // Names that no property has, and what their values are.
  struct Others {
    std::shared_ptr<const Dfa> names;  // null for all names
    NodeId value = kAnyValue;
    // There are so many names that an escape in one of them stands for any name.
    bool names_many = false;
  };

  TypeSet types = 0;  // its null, its booleans, and whether it has others
  // Where it is set, strings and numbers are those listed.
  bool listed = false;
  std::vector<std::string> words = {};
  std::vector<Json> numbers = {};
  NumberRange range = {};
  std::shared_ptr<const Dfa> texts = {};  // null for all texts of these lengths
  size_t length_min = 0;
  std::optional<size_t> length_max = {};
  std::vector<NodeId> first_items = {};
  NodeId item = kAnyValue;  // behind the first
  size_t items_min = 0;
  std::optional<size_t> items_max = {};
  std::vector<Property> properties = {};  // each name once
  std::vector<Others> others = {};
  size_t members_min = 0;
  std::optional<size_t> members_max = {};

  bool IsAnything() const;
};

struct SchemaNode {
  std::vector<SchemaShape> shapes = {};
};

struct SchemaNodes {
  // By NodeId. What no value fits is left out: of shapes, of properties that may be missing, of
  // lists that may be shorter.
  std::vector<SchemaNode> nodes = {};
  NodeId root = kAnyValue;
  std::set<std::string> loosened = {};  // places of keywords that are not enforced
};

// Returns the normal form of a schema. Any thread. Errors, all 400, name the place: it is no
// schema, a reference leads nowhere, nothing fits it.
ApiResult<SchemaNodes> NodesOfSchema(const Json& schema, const std::string& field);

}  // namespace cairn

#endif  // CAIRN_API_GRAMMAR_SCHEMA_SCHEMA_NODES_H_
