// TLS for the server's connections, by OpenSSL, whose types do not leave this file: the server's
// certificate, and the layer between a connection's socket and its bytes.
//
// TLS 1.2 and newer with OpenSSL's defaults; http/1.1 as the only ALPN protocol; no client
// certificates. No call blocks: if the socket is not ready, the call says so and the caller waits
// with its own timeouts (http/connections/socket.h). The handshake is part of the first read.

#ifndef CAIRN_HTTP_CONNECTIONS_TLS_H_
#define CAIRN_HTTP_CONNECTIONS_TLS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/result.h"

namespace cairn {

// The TLS of one connection. Used by one thread.
class TlsLayer {
 public:
  enum class Wants : uint8_t {
    kNothing,   // the call is done, or can never succeed
    kReadable,  // the socket must be readable before the call is repeated
    kWritable,
  };

  virtual ~TlsLayer() = default;

  // Returns the number of bytes read (at least 1), 0 if the peer has ended the connection, or -1:
  // see wants().
  virtual ssize_t Read(char* bytes, size_t size) = 0;
  // Returns the number of bytes taken (at least 1), or -1: see wants(); then the same bytes must be
  // passed again.
  virtual ssize_t Write(const char* bytes, size_t size) = 0;
  // Valid after a call that returned -1.
  virtual Wants wants() const = 0;
  // Whether Read has bytes that are no longer in the socket.
  virtual bool HasBytes() const = 0;
  // Sends the peer a close notification, if that is possible without waiting.
  virtual void End() = 0;
  // Whether the input was the beginning of a plain HTTP request instead of TLS.
  virtual bool spoke_plain_http() const = 0;
};

// Thread-safe.
class TlsCertificate {
 public:
  // Loads PEM files: the certificate followed by its chain, and its key without a passphrase.
  // Returns kNotFound or kInvalidArgument if a file cannot be read or is not valid, or if the two
  // do not match; the message names flag and file.
  static Result<std::shared_ptr<TlsCertificate>> Load(std::string certificate_file,
                                                      std::string key_file);
  // Reads both files again, for new connections. Errors as for Load; on an error nothing changes.
  Status Reload();

  // Returns the layer for a connection on the socket `fd`, which must outlive it; null if there is
  // no memory for it.
  std::unique_ptr<TlsLayer> Accept(int fd) const;

 private:
  class Context;
  static Result<std::shared_ptr<const Context>> Read(const std::string& certificate_file,
                                                     const std::string& key_file);
  TlsCertificate(std::string certificate_file, std::string key_file,
                 std::shared_ptr<const Context> context);

  const std::string certificate_file_;
  const std::string key_file_;
  mutable Mutex mutex_;
  std::shared_ptr<const Context> context_ GUARDED_BY(mutex_);
};

}  // namespace cairn

#endif  // CAIRN_HTTP_CONNECTIONS_TLS_H_
