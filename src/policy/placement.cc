#include "policy/placement.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cairn {
namespace {

struct NamedPlacement {
  std::string_view name;
  std::unique_ptr<PlacementPolicy> (*make)();
};

constexpr std::array<NamedPlacement, 3> kPlacements{{
    {"near-end", MakeNearEndPlacement},
    {"none", MakeNonePlacement},
    {"user-turns", MakeUserTurnsPlacement},
}};

// Several policies, each of which has its say.
class PlacementList final : public PlacementPolicy {
 public:
  explicit PlacementList(std::vector<std::unique_ptr<PlacementPolicy>> policies)
      : policies_(std::move(policies)) {}

  void Place(const PlacementInput& input, std::vector<Placement>* placements) const override {
    for (const auto& policy : policies_) policy->Place(input, placements);
  }

 private:
  std::vector<std::unique_ptr<PlacementPolicy>> policies_;
};

Result<std::unique_ptr<PlacementPolicy>> MakeOne(std::string_view name) {
  std::string known;
  for (const NamedPlacement& placement : kPlacements) {
    if (placement.name == name) return placement.make();
    known += known.empty() ? "" : ", ";
    known += placement.name;
  }
  return Fail(ErrorCode::kInvalidArgument, "there is no placement policy named '" +
                                               std::string(name) + "'; there are: " + known +
                                               " (several may be joined with commas)");
}

}  // namespace

std::string_view CheckpointClassName(CheckpointClass checkpoint_class) {
  switch (checkpoint_class) {
    case CheckpointClass::kHeader:
      return "header";
    case CheckpointClass::kTurn:
      return "turn";
    case CheckpointClass::kPrompt:
      return "prompt";
    case CheckpointClass::kEnd:
      return "end";
    case CheckpointClass::kLadder:
      return "ladder";
    case CheckpointClass::kReply:
      return "reply";
    case CheckpointClass::kBranch:
      return "branch";
    case CheckpointClass::kInterval:
      return "interval";
    case CheckpointClass::kMark:
      return "mark";
  }
  return "unknown";
}

Result<std::unique_ptr<PlacementPolicy>> MakePlacement(std::string_view names) {
  std::vector<std::unique_ptr<PlacementPolicy>> policies;
  size_t begin = 0;
  while (begin <= names.size()) {
    const size_t comma = std::min(names.find(',', begin), names.size());
    auto policy = MakeOne(names.substr(begin, comma - begin));
    if (!policy) return tl::unexpected(policy.error());
    policies.push_back(std::move(*policy));
    begin = comma + 1;
  }
  if (policies.size() == 1) return std::move(policies.front());
  return std::make_unique<PlacementList>(std::move(policies));
}

}  // namespace cairn
