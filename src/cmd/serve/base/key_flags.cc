#include "cmd/serve/base/key_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <utility>

#include "base/fs.h"
#include "http/heap_trim.h"
#include "routes/routes.h"

namespace cairn {
namespace {

void AddKeysOf(const char* variable, std::vector<std::string>* keys) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return;
  std::istringstream list(value);
  for (std::string key; std::getline(list, key, ',');) {
    if (!key.empty()) keys->push_back(key);
  }
}

// The first of the three words of an admin's line.
constexpr std::string_view kAdmin = "admin";

void ReplaceAll(const std::string& what, std::string* text) {
  constexpr std::string_view kHidden = "***";
  for (size_t at = text->find(what); at != std::string::npos;
       at = text->find(what, at + kHidden.size())) {
    text->replace(at, what.size(), kHidden);
  }
}

}  // namespace

void AddKeyFlags(CLI::App* serve, ServeOptions* options) {
  const std::string group = "Server";
  serve
      ->add_option(
          "--api-key", options->api_keys,
          "API key that requests must send; several may be separated by commas, each with a "
          "separate cache. CAIRN_API_KEY sets it without showing it to other users of the machine")
      ->delimiter(',')
      ->group(group);
  serve
      ->add_option("--api-key-admin", options->admin_keys,
                   "API key that may also do what acts on all clients: drain the server, flush its "
                   "cache, change LoRA scales, load and unload models; otherwise as --api-key. "
                   "CAIRN_API_KEY_ADMIN sets it too")
      ->delimiter(',')
      ->group(group);
  serve
      ->add_option(
          "--api-key-file", options->api_key_file,
          "File with API keys, one per line, optionally with a name before the key; admin, "
          "a name and a key: as --api-key-admin; # starts a comment; SIGHUP reloads it")
      ->group(group);
  serve
      ->add_option("--ssl-key-file", options->ssl_key_file,
                   "Private key for HTTPS, PEM without a passphrase; needs --ssl-cert-file; SIGHUP "
                   "reloads both")
      ->group(group);
  serve
      ->add_option("--ssl-cert-file", options->ssl_cert_file,
                   "Certificate chain for HTTPS, PEM, the server's certificate first; the port "
                   "then accepts TLS only")
      ->group(group);
  serve
      ->add_flag("--insecure", options->insecure,
                 "Accept requests without an API key from everyone who can reach --host")
      ->group(group);
  serve
      ->add_option("--cors-origin,--cors-origins", options->cors_origins,
                   "Origin whose web pages may send requests, such as https://example.org; may be "
                   "repeated or a list with commas; localhost: the pages of this machine; *: all "
                   "origins, needs an API key (default: none)")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->group(group);
  serve
      ->add_option("--api-prefix", options->api_prefix,
                   "Path in front of all paths of the server, such as /llm")
      ->check([](const std::string& prefix) {
        const bool good = prefix.empty() || (prefix.starts_with('/') && !prefix.ends_with('/'));
        return good ? std::string()
                    : "--api-prefix takes a path such as /llm, without / at the end";
      })
      ->group(group);
  serve->add_option("--max-body", options->max_body_mib, "Maximum size of a request body in MiB")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096))
      ->group(group);
  serve
      ->add_option("--max-streams", options->max_streams,
                   "Maximum concurrent requests per API key, streaming or not; further ones get a "
                   "429 (0: no separate limit)")
      ->capture_default_str()
      ->group(group);
}

Result<ApiKeys::Texts> ParseKeyFile(std::string_view text) {
  ApiKeys::Texts texts;
  std::istringstream lines{std::string(text)};
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream split(line);
    std::vector<std::string> words;
    for (std::string word; split >> word;) words.push_back(std::move(word));
    if (words.empty() || words[0].starts_with('#')) continue;
    const bool is_admin = words.size() == 3 && words[0] == kAdmin;
    if (words.size() > 2 && !is_admin) {
      return Fail(ErrorCode::kInvalidArgument,
                  "line " + std::to_string(number) +
                      " has more than two words; expected KEY, NAME KEY or admin NAME KEY");
    }
    (is_admin ? texts.admins : texts.keys).push_back(std::move(words.back()));
  }
  if (texts.keys.empty() && texts.admins.empty())
    return Fail(ErrorCode::kInvalidArgument, "the file has no key; expected one key per line");
  return texts;
}

Result<ApiKeys::Texts> KeysOf(const ServeOptions& options) {
  ApiKeys::Texts texts{options.api_keys, options.admin_keys};
  AddKeysOf("CAIRN_API_KEY", &texts.keys);
  AddKeysOf("LLAMA_API_KEY", &texts.keys);
  AddKeysOf("CAIRN_API_KEY_ADMIN", &texts.admins);
  if (options.api_key_file.empty()) return texts;
  const auto text = ReadFile(options.api_key_file);
  if (!text) return Fail(text.error().code, "--api-key-file " + text.error().message);
  const auto more = ParseKeyFile(*text);
  if (!more) {
    return Fail(more.error().code,
                "--api-key-file '" + options.api_key_file + "': " + more.error().message);
  }
  texts.keys.insert(texts.keys.end(), more->keys.begin(), more->keys.end());
  texts.admins.insert(texts.admins.end(), more->admins.begin(), more->admins.end());
  return texts;
}

Result<std::shared_ptr<TlsCertificate>> CertificateOf(const ServeOptions& options) {
  if (options.ssl_cert_file.empty() && options.ssl_key_file.empty()) return nullptr;
  if (options.ssl_cert_file.empty() || options.ssl_key_file.empty()) {
    const bool has_key = options.ssl_cert_file.empty();
    return Fail(ErrorCode::kInvalidArgument,
                std::string(has_key ? "--ssl-key-file" : "--ssl-cert-file") + " needs " +
                    (has_key ? "--ssl-cert-file" : "--ssl-key-file") +
                    "; give both files, a certificate and its key");
  }
  return TlsCertificate::Load(options.ssl_cert_file, options.ssl_key_file);
}

HttpServerOptions ToHttpOptions(const ServeOptions& options, std::shared_ptr<ApiKeys> keys,
                                std::shared_ptr<TlsCertificate> certificate, const ServerLog& log) {
  HttpServerOptions http;
  http.host = options.host;
  http.port = options.port;
  http.keys = std::move(keys);
  http.certificate = std::move(certificate);
  http.insecure = options.insecure;
  http.api_prefix = options.api_prefix;
  http.cors_origins = options.cors_origins;
  http.body_bytes_max = options.max_body_mib << 20;
  http.key_requests_max = options.max_streams;
  http.error_body = HttpErrorBody;
  http.on_end = [trim = std::make_shared<HeapTrim>()](size_t bytes) { trim->OnRequestEnd(bytes); };
  http.log = log.sink();
  return http;
}

bool OthersCanRead(const std::string& path) {
  std::error_code error;
  const auto perms = std::filesystem::status(path, error).permissions();
  return !error && (perms & std::filesystem::perms::others_read) != std::filesystem::perms::none;
}

void WarnOfReaders(const ServerLog& log, const char* flag, const std::string& file) {
  if (file.empty() || !OthersCanRead(file)) return;
  log->warn("{} {}: every user of this machine can read it; chmod 600 it", flag, file);
}

void ReloadCertificate(const ServerLog& log, const ServeOptions& options,
                       TlsCertificate* certificate) {
  if (certificate == nullptr) return;
  if (const Status reloaded = certificate->Reload(); !reloaded) {
    log->warn("SIGHUP: keeping the previous certificate: {}", reloaded.error().message);
    return;
  }
  log->info("SIGHUP: reloaded the certificate");
  WarnOfReaders(log, "--ssl-key-file", options.ssl_key_file);
}

std::string HideKeys(std::string message, const std::vector<std::string>& arguments) {
  bool follows = false;
  for (const std::string& argument : arguments) {
    const bool is_flag = argument.starts_with('-');
    if (is_flag) {
      follows = argument.starts_with("--api") && !argument.starts_with("--api-key-file");
      const size_t equals = argument.find('=');
      if (follows && equals != std::string::npos && equals + 1 < argument.size()) {
        ReplaceAll(argument.substr(equals + 1), &message);
      }
    } else if (follows && !argument.empty()) {
      ReplaceAll(argument, &message);
    }
  }
  return message;
}

}  // namespace cairn
