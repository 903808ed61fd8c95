#include "api/grammar/schema/schema_nodes.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "api/grammar/schema/schema_expansion.h"
#include "api/grammar/schema/shape_maker.h"

namespace cairn {
namespace {

// The most nodes, and the most parts of all shapes; beyond them a node is any value.
constexpr size_t kNodesMax = 20000;
constexpr size_t kPartsMax = 200000;
// Parts looked at to find out what can be written.
constexpr size_t kPossibleStepsMax = 20'000'000;

SchemaShape AnyShape() {
  SchemaShape shape;
  shape.types = kAllTypes;
  shape.others.push_back({nullptr, kAnyValue});
  return shape;
}

// Makes the nodes, those nearest to the root first.
class NodesMaker {
 public:
  NodesMaker(const Json& schema, const std::string& field)
      : terms_(schema, field),
        shapes_(&terms_, [this](const std::vector<TermId>& all) { return NodeOf(all); }) {}

  ApiResult<SchemaNodes> Make() {
    made_.nodes.resize(2);
    made_.nodes[kAnyValue].shapes.push_back(AnyShape());
    of_.resize(2);
    made_.root = NodeOf({terms_.root()});
    for (NodeId id = 2; id < of_.size() && !terms_.error(); ++id) Expand(id);
    if (terms_.error()) return tl::unexpected(*terms_.error());
    LeaveOutImpossible();
    if (terms_.error()) return tl::unexpected(*terms_.error());
    if (made_.nodes[made_.root].shapes.empty()) {
      return tl::unexpected(
          FieldError(terms_.PlaceOf(terms_.root()), "a schema that some value fits"));
    }
    made_.loosened = terms_.loosened();
    return std::move(made_);
  }

 private:
  // Whether a term says nothing.
  bool IsTrue(TermId id) const {
    const Term& term = terms_[id];
    if (term.negated) return false;
    if (term.schema->is_boolean()) return term.schema->get<bool>();
    return term.schema->is_object() && term.schema->empty();
  }

  NodeId NodeOf(const std::vector<TermId>& all) {
    std::vector<TermId> kept;
    for (const TermId id : all) {
      const bool again = std::find(kept.begin(), kept.end(), id) != kept.end();
      if (!again && !IsTrue(id)) kept.push_back(id);
    }
    if (kept.empty()) return kAnyValue;
    if (shapes_.IsFalse(kept)) return kNoValue;
    std::vector<TermId> key = kept;
    std::sort(key.begin(), key.end());
    const auto [known, is_new] = known_.emplace(std::move(key), static_cast<NodeId>(of_.size()));
    if (!is_new) return known->second;
    if (of_.size() >= kNodesMax || parts_ > kPartsMax) {
      known->second = kAnyValue;
      terms_.Loosen(kept[0], "");
      return kAnyValue;
    }
    of_.push_back(std::move(kept));
    made_.nodes.emplace_back();
    return known->second;
  }

  void Expand(NodeId id) {
    const std::vector<TermId> all = of_[id];
    if (parts_ > kPartsMax || terms_.budget().left() == 0) {
      terms_.Loosen(all[0], "");
      made_.nodes[id].shapes.push_back(AnyShape());
      return;
    }
    std::vector<SchemaShape> shapes;
    for (const SchemaDraft& way : SchemaExpansion(&terms_).Ways(all)) {
      if (terms_.error()) return;
      SchemaShape shape = shapes_.Make(way);
      parts_ += 1 + shape.properties.size() + shape.first_items.size() + shape.others.size() +
                shape.words.size() / 8;
      if (shape.types == 0) continue;
      if (shape.IsAnything()) {
        shapes.assign(1, AnyShape());
        break;
      }
      shapes.push_back(std::move(shape));
    }
    made_.nodes[id].shapes = std::move(shapes);
  }

  // Possible nodes are found from the leaves: a node is possible if one of its shapes is.
  // Returns false if that takes too much.
  bool FindPossible(std::vector<bool>* possible) const {
    const std::vector<SchemaNode>& nodes = made_.nodes;
    std::vector<std::vector<NodeId>> users(nodes.size());
    std::vector<NodeId> open;
    for (NodeId id = 0; id < nodes.size(); ++id) {
      open.push_back(id);
      for (const SchemaShape& shape : nodes[id].shapes) {
        ForValues(shape, [&](NodeId value) { users[value].push_back(id); });
      }
    }
    // The deepest first.
    std::deque<NodeId> queue(open.rbegin(), open.rend());
    std::vector<bool> waits(nodes.size(), true);
    size_t steps = 0;
    while (!queue.empty()) {
      const NodeId id = queue.front();
      queue.pop_front();
      waits[id] = false;
      (*possible)[id] = std::any_of(
          nodes[id].shapes.begin(), nodes[id].shapes.end(), [&](const SchemaShape& shape) {
            steps += 1 + shape.properties.size() + shape.first_items.size() + shape.others.size();
            return PossibleTypes(shape, *possible) != 0;
          });
      if (steps > kPossibleStepsMax) return false;
      if (!(*possible)[id]) continue;
      for (const NodeId user : users[id]) {
        if ((*possible)[user] || waits[user]) continue;
        waits[user] = true;
        queue.push_back(user);
      }
    }
    return true;
  }

  template <typename Use>
  static void ForValues(const SchemaShape& shape, Use use) {
    if ((shape.types & kArrayType) != 0) {
      for (const NodeId item : shape.first_items) use(item);
      use(shape.item);
    }
    if ((shape.types & kObjectType) == 0) return;
    for (const SchemaShape::Property& property : shape.properties) use(property.value);
    for (const SchemaShape::Others& others : shape.others) use(others.value);
  }

  void LeaveOutImpossible() {
    std::vector<bool> possible(made_.nodes.size());
    if (!FindPossible(&possible)) {
      terms_.Fail(terms_.root(), "", "a schema of fewer parts that lead to each other");
      return;
    }
    for (SchemaNode& node : made_.nodes) {
      std::vector<SchemaShape> kept;
      for (SchemaShape& shape : node.shapes) {
        shape.types = PossibleTypes(shape, possible);
        if (shape.types == 0) continue;
        Restrict(possible, &shape);
        kept.push_back(std::move(shape));
      }
      node.shapes = std::move(kept);
    }
  }

  // How many items can stand at the front of a list.
  static size_t ItemsThere(const SchemaShape& shape, const std::vector<bool>& possible) {
    for (size_t i = 0; i < shape.first_items.size(); ++i) {
      if (!possible[shape.first_items[i]]) return i;
    }
    return possible[shape.item] ? ~size_t{0} : shape.first_items.size();
  }

  static TypeSet PossibleTypes(const SchemaShape& shape, const std::vector<bool>& possible) {
    TypeSet types = shape.types;
    const auto drop = [&](TypeSet type) { types &= static_cast<TypeSet>(~type); };
    if ((types & kArrayType) != 0 && ItemsThere(shape, possible) < shape.items_min)
      drop(kArrayType);
    if (shape.items_max && *shape.items_max < shape.items_min) drop(kArrayType);
    if ((types & kObjectType) == 0) return types;
    size_t there = 0;
    for (const SchemaShape::Property& property : shape.properties) {
      if (possible[property.value]) ++there;
      if (property.required && !possible[property.value]) drop(kObjectType);
    }
    const bool others = std::any_of(shape.others.begin(), shape.others.end(),
                                    [&](const auto& one) { return possible[one.value]; });
    if (!others && there < shape.members_min) drop(kObjectType);
    return types;
  }

  static void Restrict(const std::vector<bool>& possible, SchemaShape* shape) {
    const size_t there = ItemsThere(*shape, possible);
    if (there <= shape->first_items.size()) {
      shape->first_items.resize(there);
      shape->items_max = std::min(shape->items_max.value_or(there), there);
    }
    std::erase_if(shape->properties, [&](const auto& one) { return !possible[one.value]; });
    std::erase_if(shape->others, [&](const auto& one) { return !possible[one.value]; });
  }

  SchemaTerms terms_;
  ShapeMaker shapes_;
  SchemaNodes made_;
  std::vector<std::vector<TermId>> of_;  // by node
  std::map<std::vector<TermId>, NodeId> known_;
  size_t parts_ = 0;
};

}  // namespace

bool SchemaShape::IsAnything() const {
  return types == kAllTypes && !listed && range.free() && !texts && length_min == 0 &&
         !length_max && first_items.empty() && item == kAnyValue && items_min == 0 && !items_max &&
         properties.empty() && others.size() == 1 && !others[0].names &&
         others[0].value == kAnyValue && members_min == 0 && !members_max;
}

ApiResult<SchemaNodes> NodesOfSchema(const Json& schema, const std::string& field) {
  return NodesMaker(schema, field).Make();
}

}  // namespace cairn
