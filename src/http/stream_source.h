// StreamSource: adapts a handler's stream to the HTTP library, shared by the provider and the
// releaser of one answer.
//
// Threads: the connection's.

#ifndef CAIRN_HTTP_STREAM_SOURCE_H_
#define CAIRN_HTTP_STREAM_SOURCE_H_

#include <exception>
#include <string>
#include <utility>

#include "base/log.h"
#include "http/server.h"

namespace cairn {

class StreamSource {
 public:
  StreamSource(StreamBody body, LogSink log) : body_(std::move(body)), log_(std::move(log)) {}

  // The library's provider: writes one chunk into `sink`. Returns false to end the connection.
  template <typename Sink>
  bool Provide(Sink& sink) {
    std::string chunk;
    bool more = false;
    try {
      more = body_.next(&chunk);
    } catch (const std::exception& e) {
      if (log_) log_(LogLevel::kError, std::string("a stream failed: ") + e.what());
      return false;
    } catch (...) {
      if (log_) log_(LogLevel::kError, "a stream failed: it threw something unknown");
      return false;
    }
    ended_ = !more;
    if (!chunk.empty() && !sink.write(chunk.data(), chunk.size())) return false;
    if (!more) sink.done();
    return true;  // the library checks that the client is still there before the next call
  }

  void Release() {
    if (ended_ || !body_.on_gone) return;
    ended_ = true;
    try {
      body_.on_gone();
    } catch (...) {
      if (log_) log_(LogLevel::kError, "a stream's on_gone threw");
    }
  }

 private:
  StreamBody body_;
  const LogSink log_;
  bool ended_ = false;
};

}  // namespace cairn

#endif  // CAIRN_HTTP_STREAM_SOURCE_H_
