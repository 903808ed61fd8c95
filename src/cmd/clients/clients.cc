#include "cmd/clients/clients.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>

#include "base/nearest_word.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr std::string_view kSection = "## ";
constexpr std::string_view kTableOrRest[] = {"Other programs", "Libraries", "Others"};
constexpr std::string_view kPageHost = "127.0.0.1:8080";
constexpr std::string_view kPageUrl = "http://127.0.0.1:8080";

// "Claude Code" -> "claude-code", "grok-cli (`@vibe-kit`)" -> "grok-cli".
std::string ClientNameOf(std::string_view title) {
  title = Trimmed(title.substr(0, title.find('(')));
  std::string name;
  for (const char c : title) {
    const bool kept = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (kept) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!kept && c != '`' && !name.empty() && name.back() != '-') name += '-';
  }
  return name;
}

// Cells of a table's row, without the white space around them.
std::vector<std::string_view> CellsOf(std::string_view row) {
  std::vector<std::string_view> cells;
  while (row.starts_with('|')) {
    row.remove_prefix(1);
    const size_t end = row.find('|');
    if (end == std::string_view::npos) break;
    cells.push_back(Trimmed(row.substr(0, end)));
    row.remove_prefix(end);
  }
  return cells;
}

// A row for several clients is one of each.
void AddRow(std::string_view row, std::vector<ClientSettings>* clients) {
  const std::vector<std::string_view> cells = CellsOf(row);
  const bool is_row = cells.size() == 3 && !cells[0].starts_with("---") && cells[2] != "Settings";
  if (!is_row) return;
  std::string_view names = cells[0];
  while (!names.empty()) {
    const size_t end = std::min(names.find(','), names.size());
    clients->push_back({ClientNameOf(names.substr(0, end)), std::string(cells[0]) + ", version " +
                                                                std::string(cells[1]) + "\n\n" +
                                                                std::string(cells[2]) + "\n"});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

// Whether the text at `at` is the word "URL", which stands for the address in tables.
bool IsUrlWord(std::string_view text, size_t at) {
  const auto is_letter = [&](size_t i) {
    return i < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  return text.substr(at).starts_with("URL") && !is_letter(at + 3) &&
         (at == 0 || !is_letter(at - 1));
}

std::string WithAddress(std::string_view text, std::string_view url) {
  const size_t scheme = url.find("://");
  const std::string_view host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
  std::string told;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with(kPageUrl)) {
      told += url;
      at += kPageUrl.size();
    } else if (rest.starts_with(kPageHost)) {
      told += host;
      at += kPageHost.size();
    } else if (IsUrlWord(text, at)) {
      told += url;
      at += 3;
    } else {
      told += text[at++];
    }
  }
  return told;
}

}  // namespace

std::vector<ClientSettings> ParseClientSettings(std::string_view page) {
  std::vector<ClientSettings> clients;
  bool in_section = false;
  while (!page.empty()) {
    const size_t end = std::min(page.find('\n'), page.size());
    const std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    if (line.starts_with(kSection)) {
      const std::string_view title = line.substr(kSection.size());
      in_section = std::find(std::begin(kTableOrRest), std::end(kTableOrRest), title) ==
                   std::end(kTableOrRest);
      if (in_section) clients.push_back({ClientNameOf(title), std::string(title) + "\n"});
    } else if (in_section) {
      clients.back().text += std::string(line) + "\n";
    } else {
      AddRow(line, &clients);
    }
  }
  for (ClientSettings& client : clients) client.text = std::string(Trimmed(client.text)) + "\n";
  return clients;
}

Result<std::string> SettingsFor(const std::vector<ClientSettings>& clients, std::string_view name,
                                std::string_view url) {
  const std::string asked = ClientNameOf(name);
  const auto found = std::find_if(clients.begin(), clients.end(),
                                  [&](const auto& client) { return client.name == asked; });
  if (found != clients.end()) return WithAddress(found->text, url);
  std::vector<std::string> names;
  for (const ClientSettings& client : clients) names.push_back(client.name);
  return Fail(ErrorCode::kNotFound, "there are no tested settings for '" + std::string(name) + "'" +
                                        DidYouMean(asked, names) +
                                        "; cairn clients lists the names. Any client whose address "
                                        "can be set should work: OpenAI's API is at " +
                                        std::string(url) + "/v1, Anthropic's at " +
                                        std::string(url));
}

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
