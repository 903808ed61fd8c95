// The flags of `cairn serve` for API keys, certificates and origins.

#ifndef CAIRN_CMD_SERVE_BASE_KEY_FLAGS_H_
#define CAIRN_CMD_SERVE_BASE_KEY_FLAGS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/serve/base/serve_options.h"
#include "cmd/serve/base/server_log.h"
#include "http/connections/tls.h"
#include "http/keys.h"
#include "http/server.h"

namespace CLI {
class App;
}

namespace cairn {

void AddKeyFlags(CLI::App* serve, ServeOptions* options);

// Parses a key file: one key per line, optionally after a name and a space; "admin NAME KEY" is an
// admin's. Lines that are empty or begin with # are ignored. kInvalidArgument if there is no key,
// or a line has other words; the message has the line's number and none of its text.
Result<ApiKeys::Texts> ParseKeyFile(std::string_view text);

// Returns all keys of the flags, of the environment (CAIRN_API_KEY, LLAMA_API_KEY,
// CAIRN_API_KEY_ADMIN) and of the key file, which is read again. Errors are those of
// ParseKeyFile(), or kNotFound.
Result<ApiKeys::Texts> KeysOf(const ServeOptions& options);

// Loads the certificate of --ssl-cert-file and --ssl-key-file. Null if neither was given;
// kInvalidArgument if only one was. Other errors are those of TlsCertificate::Load().
Result<std::shared_ptr<TlsCertificate>> CertificateOf(const ServeOptions& options);

// Returns the options of an HTTP server with these flags. The caller adds answer_headers.
HttpServerOptions ToHttpOptions(const ServeOptions& options, std::shared_ptr<ApiKeys> keys,
                                std::shared_ptr<TlsCertificate> certificate, const ServerLog& log);

// Returns whether every user of this machine may read the file.
bool OthersCanRead(const std::string& path);
// Warns if every user may read the flag's file. Does nothing if `file` is empty.
void WarnOfReaders(const ServerLog& log, const char* flag, const std::string& file);

// On SIGHUP: loads the certificate again, if there is one, and says so. Warns if every user may
// read its key. An invalid file leaves the previous certificate in place.
void ReloadCertificate(const ServerLog& log, const ServeOptions& options,
                       TlsCertificate* certificate);

// Returns `message` without the values of flags in `arguments` that may be meant as --api-key,
// because error messages end up in logs.
std::string HideKeys(std::string message, const std::vector<std::string>& arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_BASE_KEY_FLAGS_H_
