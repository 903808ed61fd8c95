// Asking a server for an answer, and what came of it.

#ifndef CAIRN_TESTS_SOAK_ASKING_H_
#define CAIRN_TESTS_SOAK_ASKING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "soak/answer.h"

namespace cairn::soak {

// What a client asks. The body does not say whether the answer is streamed.
struct Question {
  Api api = Api::kChat;
  Json body;
};

// How it goes about it.
struct Manner {
  std::string key = {};  // API key; empty: none
  bool streamed = false;
  int timeout_ms = 600'000;  // of silence
  // After so many events of a stream the connection is closed, or the answer is cancelled by its id
  // (see `cancels`); 0: it waits for the end.
  size_t events_max = 0;
  bool cancels = false;
};

struct Reply {
  enum class Kind : uint8_t {
    kWhole,    // 200 and all of an answer
    kCut,      // 200, and the stream broke off or failed; `answer` is what came
    kLeft,     // the client did not wait for the end; `answer` is what came
    kRefused,  // another status
    kNoReply,  // nobody listens, or the connection ended before an answer
    kGarbled,  // what came is no answer of this API
  };
  Kind kind = Kind::kNoReply;
  int status = 0;
  bool retry_after = false;  // the header was there
  std::string detail;        // of what is not whole
  Answer answer;
};

Reply Ask(const std::string& url, const Question& question, const Manner& manner);

// A request that is no question: its status, 0 when nothing came. `body` may be null.
int Send(const std::string& url, const std::string& key, const std::string& method,
         const std::string& path, const std::string& body, std::string* answer);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_ASKING_H_
