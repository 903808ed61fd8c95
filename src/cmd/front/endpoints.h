// Endpoints: the servers of a fleet, which of them take requests, and the file that tells llm-d's
// endpoint picker (EPP) so: its plugin file-discovery reads it (docs/fleet.md).
//
//   endpoints:
//     - name: cairn-10.0.0.1-8080
//       address: "10.0.0.1"
//       port: "8080"
//       labels: {"llm-d.ai/engine-type": "cairn"}
//
// Threads: one at a time.

#ifndef CAIRN_CMD_FRONT_ENDPOINTS_H_
#define CAIRN_CMD_FRONT_ENDPOINTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

struct Endpoint {
  std::string address;  // IPv4, in digits: the plugin takes nothing else
  uint16_t port = 0;

  std::string Text() const { return address + ":" + std::to_string(port); }
};

// Parses "10.0.0.1:8080" each. kInvalidArgument: something else, the same one twice, or none.
Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& texts);

using EndpointLabels = std::vector<std::pair<std::string, std::string>>;

// Parses "KEY=VALUE" each.
Result<EndpointLabels> ParseEndpointLabels(const std::vector<std::string>& texts);

enum class Health {
  kOk,
  kRefuses,   // it answered that it takes no requests: it drains, or loads its model
  kNoAnswer,  // it did not answer in time, or nobody listens
};

class Endpoints {
 public:
  // A server leaves after `fall` checks in a row without an answer. At first none takes requests.
  Endpoints(std::vector<Endpoint> endpoints, int fall);

  const std::vector<Endpoint>& all() const { return all_; }
  bool takes_requests(size_t index) const { return states_[index].in; }

  // Takes the result of a check of each server, in order. Returns what changed, a line for each.
  std::vector<std::string> Update(const std::vector<Health>& healths);

  // The content of the file.
  std::string Yaml(const EndpointLabels& labels) const;

 private:
  struct State {
    bool in = false;
    int unanswered = 0;  // checks in a row
  };

  const std::vector<Endpoint> all_;
  const int fall_;
  std::vector<State> states_;
};

}  // namespace cairn

#endif  // CAIRN_CMD_FRONT_ENDPOINTS_H_
