// TLS under the server's connections, by OpenSSL, whose types stop at this file: the certificate a
// server shows, and the layer between one connection's socket and its bytes.
//
// TLS 1.2 and newer with OpenSSL's defaults; of ALPN's protocols http/1.1 alone; no client
// certificates. No call waits: where the socket has nothing, or takes nothing, it says so, and
// whoever calls waits under the time-outs of its own (http/socket.h). The handshake is part of the
// first reading.

#ifndef CAIRN_HTTP_TLS_H_
#define CAIRN_HTTP_TLS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace cairn {

// One connection's. Used by one thread.
class TlsLayer {
 public:
  enum class Wants : uint8_t {
    kNothing,   // it is done, or can never be
    kReadable,  // the socket, before the same call is made again
    kWritable,
  };

  virtual ~TlsLayer() = default;

  // Bytes read (at least 1); 0: the other side has ended it; -1: see wants().
  virtual ssize_t Read(char* bytes, size_t size) = 0;
  // Bytes taken (at least 1); -1: see wants(); then the same bytes must be offered again.
  virtual ssize_t Write(const char* bytes, size_t size) = 0;
  // Of the last call, when it returned -1.
  virtual Wants wants() const = 0;
  // Whether Read has bytes that the socket does not have any more.
  virtual bool HasBytes() const = 0;
  // Tells the other side that nothing more comes, if it can be told now.
  virtual void End() = 0;
  // Whether what came was no TLS but the beginning of a plain HTTP request.
  virtual bool spoke_plain_http() const = 0;
};

// Thread-safe.
class TlsCertificate {
 public:
  // PEM files: the certificate with those that vouch for it behind it, and its key without a
  // passphrase. kNotFound, kInvalidArgument: a file cannot be read, is none, or the two do not
  // belong together; the message names flag and file.
  static Result<std::shared_ptr<TlsCertificate>> Load(std::string certificate_file,
                                                      std::string key_file);
  // Reads both files again, for connections from now on. Errors as Load's; then all stays as it
  // was.
  Status Reload();

  // For a connection on the socket `fd`, which must outlive it. Null: there is no memory for it.
  std::unique_ptr<TlsLayer> Accept(int fd) const;

 private:
  class Context;
  static Result<std::shared_ptr<const Context>> Read(const std::string& certificate_file,
                                                     const std::string& key_file);
  TlsCertificate(std::string certificate_file, std::string key_file,
                 std::shared_ptr<const Context> context);

  const std::string certificate_file_;
  const std::string key_file_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Context> context_;  // guarded by mutex_
};

}  // namespace cairn

#endif  // CAIRN_HTTP_TLS_H_
