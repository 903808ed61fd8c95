// The flags of `cairn serve` that say who may ask, and what is shown to them.

#ifndef CAIRN_CMD_SERVE_KEY_FLAGS_H_
#define CAIRN_CMD_SERVE_KEY_FLAGS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/serve/serve.h"
#include "http/tls.h"

namespace cairn {

void AddKeyFlags(CLI::App* serve, ServeOptions* options);

// The keys in a file's text: one a line, a name for people and a space before it if one likes;
// lines that are empty or begin with # are left out. kInvalidArgument: there is no key, or a line
// has more than that; the message names the line and holds nothing of it.
Result<std::vector<std::string>> ParseKeyFile(std::string_view text);

// All keys that the flags, the environment (CAIRN_API_KEY, LLAMA_API_KEY) and the file name, which
// is read anew. Errors as ParseKeyFile()'s, or kNotFound.
Result<std::vector<std::string>> KeysOf(const ServeOptions& options);

// What --ssl-cert-file and --ssl-key-file name; null: neither was given. kInvalidArgument: only one
// was. Errors as TlsCertificate::Load()'s.
Result<std::shared_ptr<TlsCertificate>> CertificateOf(const ServeOptions& options);

// Whether every user of this machine may read the file.
bool OthersCanRead(const std::string& path);

// `message` without what follows a flag that may be meant as --api-key in `arguments`: what is
// wrong with a command line ends in logs.
std::string HideKeys(std::string message, const std::vector<std::string>& arguments);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_KEY_FLAGS_H_
