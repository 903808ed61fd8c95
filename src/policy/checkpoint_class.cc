// The names and weights of checkpoint classes.

#include "policy/placement.h"

namespace cairn {

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
    case CheckpointClass::kQuery:
      return "query";
    case CheckpointClass::kToolTurn:
      return "tool turn";
    case CheckpointClass::kMedia:
      return "media";
  }
  return "unknown";
}

std::optional<CheckpointClass> ParseCheckpointClass(uint8_t value) {
  const auto checkpoint_class = static_cast<CheckpointClass>(value);
  if (CheckpointClassName(checkpoint_class) == "unknown") return std::nullopt;
  return checkpoint_class;
}

double ClassWeight(CheckpointClass checkpoint_class) {
  switch (checkpoint_class) {
    case CheckpointClass::kHeader:
      return 8;
    case CheckpointClass::kQuery:
    case CheckpointClass::kMark:
    case CheckpointClass::kBranch:
    case CheckpointClass::kPrompt:
    case CheckpointClass::kReply:
      return 4;
    case CheckpointClass::kTurn:
    case CheckpointClass::kEnd:
    case CheckpointClass::kMedia:
      return 1;
    case CheckpointClass::kLadder:
      return 0.5;
    case CheckpointClass::kToolTurn:
    case CheckpointClass::kInterval:
      return 0.25;
  }
  return 1;
}

}  // namespace cairn
