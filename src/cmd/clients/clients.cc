#include "cmd/clients/clients.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cmd/clients/client_settings.h"

namespace cairn {

std::string_view SetUpClientsText();  // docs/set_up_clients.md

CLI::App* AddClients(CLI::App* app, ClientsOptions* options) {
  CLI::App* clients = app->add_subcommand(
      "clients", "Print the tested settings of a client, or the names of all clients");
  clients->add_option("name", options->name, "Name of the client, such as claude-code");
  clients->add_option("--url", options->url, "Address of the server, as http://host:port")
      ->capture_default_str();
  return clients;
}

int RunClients(const ClientsOptions& options) {
  const std::vector<ClientSettings> clients = ParseClientSettings(SetUpClientsText());
  if (options.name.empty()) {
    for (const ClientSettings& client : clients) std::printf("%s\n", client.name.c_str());
    return 0;
  }
  std::string url = options.url;
  while (url.ends_with('/')) url.pop_back();
  const auto settings = SettingsFor(clients, options.name, url);
  if (!settings) {
    std::fprintf(stderr, "cairn clients: %s\n", settings.error().message.c_str());
    return 1;
  }
  std::fputs(settings->c_str(), stdout);
  return 0;
}

}  // namespace cairn
