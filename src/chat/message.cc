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

}  // namespace cairn
