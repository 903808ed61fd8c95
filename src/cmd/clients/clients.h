// `cairn clients`: prints the tested settings of a client for a server at some address, from
// docs/set_up_clients.md.

#ifndef CAIRN_CMD_CLIENTS_CLIENTS_H_
#define CAIRN_CMD_CLIENTS_CLIENTS_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

struct ClientsOptions {
  std::string name;  // empty: the names are listed
  std::string url = "http://127.0.0.1:8080";
};

CLI::App* AddClients(CLI::App* app, ClientsOptions* options);
// Returns 1 with a message on standard error if there are no settings of that client.
int RunClients(const ClientsOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_CLIENTS_CLIENTS_H_
