// `cairn clients`: prints the tested settings of a client for a server at some address, from
// docs/set_up_clients.md.

#ifndef CAIRN_CMD_CLIENTS_CLIENTS_H_
#define CAIRN_CMD_CLIENTS_CLIENTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cairn {

// The settings of docs/set_up_clients.md, which is compiled into the program: a section for each
// client, and tables whose rows have shorter settings.
//
// Pure.
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

struct ClientsOptions {
  std::string name;  // empty: the names are listed
  std::string url = "http://127.0.0.1:8080";
};

CLI::App* AddClients(CLI::App* app, ClientsOptions* options);
// Returns 1 with a message on standard error if there are no settings of that client.
int RunClients(const ClientsOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_CLIENTS_CLIENTS_H_
