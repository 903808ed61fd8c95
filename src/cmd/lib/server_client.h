// The subcommands' view of a running server: a client with its API key, and the bodies of GET
// requests.
//
// Threads: those of HttpClient.

#ifndef CAIRN_CMD_LIB_SERVER_CLIENT_H_
#define CAIRN_CMD_LIB_SERVER_CLIENT_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/http_client.h"

namespace cairn {

// `api_key`: empty if the server requires none.
HttpClient ServerClient(const std::string& url, const std::string& api_key);

// Returns the body of a GET request. kInvalidArgument if the key is missing or wrong; kUnavailable
// for any other status than 200, with `hint` behind it.
Result<std::string> BodyOf(const HttpClient& client, const std::string& path,
                           std::string_view hint = "");

}  // namespace cairn

#endif  // CAIRN_CMD_LIB_SERVER_CLIENT_H_
