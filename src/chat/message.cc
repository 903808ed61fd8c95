#include "chat/message.h"

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
