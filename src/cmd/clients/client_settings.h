// The settings of docs/set_up_clients.md, which is compiled into the program: a section for each
// client, and tables whose rows have shorter settings.
//
// Pure.

#ifndef CAIRN_CMD_CLIENTS_CLIENT_SETTINGS_H_
#define CAIRN_CMD_CLIENTS_CLIENT_SETTINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn {

struct ClientSettings {
  std::string name;  // lower case, with hyphens: "claude-code"
  std::string text;  // Markdown, with the addresses of the page
};

// Returns the clients of a page in that form, in its order.
std::vector<ClientSettings> ParseClientSettings(std::string_view page);

// Returns the settings of a client for the server at `url`, which has no slash at its end. Case and
// white space of the name do not matter. Returns kNotFound, with the nearest name, if there are
// none.
Result<std::string> SettingsFor(const std::vector<ClientSettings>& clients, std::string_view name,
                                std::string_view url);

}  // namespace cairn

#endif  // CAIRN_CMD_CLIENTS_CLIENT_SETTINGS_H_
