#include "chat/text/message.h"

#include <algorithm>

namespace cairn {
namespace {

constexpr Role kRoles[] = {Role::kSystem, Role::kDeveloper, Role::kUser, Role::kAssistant,
                           Role::kTool};

}  // namespace

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kDeveloper:
      return "developer";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
    case Role::kTool:
      return "tool";
  }
  return "";
}

void NoteLeftOut(std::string_view type, std::vector<std::string>* left_out) {
  constexpr size_t kTypesMax = 16;
  constexpr size_t kTypeBytesMax = 64;
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const auto noted = [&](std::string_view name) {
    return std::find(left_out->begin(), left_out->end(), name) != left_out->end();
  };
  const bool plain = !type.empty() && type.size() <= kTypeBytesMax &&
                     type.find_first_not_of(kLetters) == std::string_view::npos;
  if (noted(type)) return;
  if (!plain || left_out->size() >= kTypesMax) type = "others";
  if (!noted(type)) left_out->emplace_back(type);
}

std::optional<Role> RoleFromName(std::string_view name) {
  for (const Role role : kRoles) {
    if (RoleName(role) == name) return role;
  }
  return std::nullopt;
}

void AppendTextPart(std::string_view text, Message* message) {
  const size_t begin = message->content.size();
  const bool behind_medium = !message->media.empty() && message->media.back().end == begin;
  if (begin > 0 && !behind_medium) message->part_begins.push_back(begin);
  message->content += text;
}

void AppendReasoningPart(std::string_view text, Message* message) {
  if (text.empty()) return;
  if (!message->reasoning.empty()) message->reasoning += '\n';
  message->reasoning += text;
}

}  // namespace cairn
