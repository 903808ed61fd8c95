// ChildConnection: one HTTP request to a server of our own on this machine, whose answer is pulled:
// what the server has sent can be passed on at once, on the thread that asked, and closing the
// connection cancels the answer.
//
// Used by one thread.

#ifndef CAIRN_FLEET_ROUTER_CHILDREN_CHILD_CONNECTION_H_
#define CAIRN_FLEET_ROUTER_CHILDREN_CHILD_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cairn {

struct ChildRequest {
  std::string method;
  std::string target;  // path and query, percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view body;  // must outlive the call of Send()
};

struct ChildAnswerHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  bool streams = false;  // sent in chunks, of unknown number

  // Returns the value of the first header with that name, ignoring case, or an empty view.
  std::string_view Header(std::string_view name) const;
};

class ChildConnection {
 public:
  // Connects and sends the request to 127.0.0.1:`port`. kNotFound: nobody listens there.
  // kUnavailable: there is no socket, or the server closed the connection while it was sent.
  static Result<std::unique_ptr<ChildConnection>> Send(int port, const ChildRequest& request);
  ~ChildConnection();
  ChildConnection(const ChildConnection&) = delete;
  ChildConnection& operator=(const ChildConnection&) = delete;

  enum class Step {
    kNothing,  // not yet
    kMore,     // something came
    kEnd,      // the answer is complete
    kBroken,   // the connection ended before the answer did, or sent what is not HTTP
  };
  // Waits up to `wait_ms` for the answer's head. kMore: it is there.
  Step ReadHead(int wait_ms);
  // REQUIRES: ReadHead() returned kMore.
  const ChildAnswerHead& head() const { return head_; }
  // Waits up to `wait_ms` and appends to `body` what has come. REQUIRES: as head().
  Step ReadBody(int wait_ms, std::string* body);

 private:
  ChildConnection(int fd, bool has_body) : fd_(fd), expects_body_(has_body) {}

  bool SendAll(std::string_view bytes);
  Step Receive(int wait_ms);
  bool ParseHead(std::string_view text);
  Step TakeBody(std::string* body);
  Step TakeChunks(std::string* body);

  const int fd_;
  const bool expects_body_;  // false for HEAD
  ChildAnswerHead head_;
  std::string received_;    // and not taken yet
  uint64_t body_left_ = 0;  // of a body of known length, or of the current chunk
  bool in_chunk_ = false;
};

}  // namespace cairn

#endif  // CAIRN_FLEET_ROUTER_CHILDREN_CHILD_CONNECTION_H_
