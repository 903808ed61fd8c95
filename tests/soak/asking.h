// Ask: sends a request to a server and classifies the reply.

#ifndef CAIRN_TESTS_SOAK_ASKING_H_
#define CAIRN_TESTS_SOAK_ASKING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "soak/answer.h"

namespace cairn::soak {

// A client's request. The body does not say whether the answer is streamed.
struct Question {
  Api api = Api::kChat;
  Json body;
};

// How the client sends it.
struct Manner {
  std::string key = {};  // API key; empty: none
  bool streamed = false;
  int timeout_ms = 600'000;  // of silence
  // After this many events of a stream the client closes the connection, or cancels the answer by
  // its id (see `cancels`); 0: it waits for the end.
  size_t events_max = 0;
  bool cancels = false;
};

struct Reply {
  enum class Kind : uint8_t {
    kWhole,    // 200 and a complete answer
    kCut,      // 200, and the stream broke off or failed; `answer` is the part received
    kLeft,     // the client did not wait for the end; `answer` is the part received
    kRefused,  // another status
    kNoReply,  // no server, or the connection ended before an answer
    kGarbled,  // the response is not an answer of this API
  };
  Kind kind = Kind::kNoReply;
  int status = 0;
  bool retry_after = false;  // whether the header was there
  std::string detail;        // if the answer is not complete
  Answer answer;
};

Reply Ask(const std::string& url, const Question& question, const Manner& manner);

// Sends any other request and returns its status, 0 without a response. `body` may be null.
int Send(const std::string& url, const std::string& key, const std::string& method,
         const std::string& path, const std::string& body, std::string* answer);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_ASKING_H_
