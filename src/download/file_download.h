// FileDownload: brings one file from a web server to this machine. The file has its final name only
// when it is whole and its checksum, where the server states one, is right.
//
//   wait for the lock -> PATH.cairn-part, resumed by a range -> checksum -> fsync, rename
//
// A cut connection, a busy server and a wrong answer are tried again with growing pauses, behind
// the last byte; the ETag (If-Range) makes sure that the content has not changed meanwhile.

#ifndef CAIRN_DOWNLOAD_FILE_DOWNLOAD_H_
#define CAIRN_DOWNLOAD_FILE_DOWNLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "download/part_file.h"
#include "download/web/content_sum.h"
#include "download/web/transfer.h"

namespace cairn {

// The surroundings of a download. All functions are called on its thread; each may be empty.
struct DownloadHooks {
  LogSink log;
  // "Downloading NAME" or "Checking NAME", and the share that is done.
  std::function<void(const std::string& what, double share)> progress;
  std::function<void(double ms)> sleep;  // empty: sleeps
  // The bytes that are free in a folder; empty: asks the system.
  std::function<Result<uint64_t>(const std::string& folder)> free_bytes;
};

struct DownloadRules {
  int attempts_max = 6;  // in a row that bring less than `progress_bytes`
  uint64_t progress_bytes = uint64_t{1} << 20U;
  double pause_ms = 1000;  // after the first failure; doubled after each further one
  double pause_ms_max = 30'000;
  uint64_t bytes_kept_free = uint64_t{64} << 20U;
  // The most of a file whose length the server does not tell.
  uint64_t unannounced_bytes_max = uint64_t{64} << 30U;
};

struct FileWanted {
  std::string url;
  std::string path;       // complete
  std::string lock_path;  // complete
  std::string name;       // for messages
  uint64_t bytes = 0;     // 0 if it is not known
  ContentSum sum;
  std::string etag;       // the version that the server has now; empty if it is not known
  bool replaces = false;  // download it though there is a file; only without a checksum
};

// Returns the version of the file at `path`, as it was wanted when it was downloaded; empty if that
// is not known.
std::string NotedEtag(const std::string& path);

// "1.2 GiB", "3.4 MiB" or "12 bytes".
std::string SizeText(uint64_t bytes);

// kNoSpace unless `bytes` more fit into `folder`, which need not exist yet. `what` needs them.
Status CheckRoom(const std::string& what, uint64_t bytes, const std::string& folder,
                 const DownloadHooks& hooks, const DownloadRules& rules);

// Not thread-safe; other objects and processes may download the same file at the same time.
class FileDownload {
 public:
  // `web` outlives this. `hub` is the address to name in errors, empty for a plain URL.
  FileDownload(WebGet* web, std::string hub, DownloadHooks hooks, DownloadRules rules = {});

  // Returns once the file is there. kUnauthorized, kNotFound: the server refuses. kNoSpace: it does
  // not fit. kCorrupt: its checksum was wrong twice, or it is no GGUF file. kUnavailable: all
  // attempts failed; the next call goes on where this one ended.
  Status Get(const FileWanted& file);

  // Returns whether the file is there; with a checksum, whether its content is right too. That is
  // computed once for each file and noted beside it (PATH.cairn-checked).
  Result<bool> IsThere(const std::string& path, const ContentSum& sum, const std::string& name);

 private:
  class Attempt;

  Result<std::unique_ptr<DownloadLock>> WaitForLock(const FileWanted& file);
  Status Fetch(const FileWanted& file);
  Status Receive(const FileWanted& file, PartFile* part);
  // Returns whether the bytes of the part are the file's.
  Result<bool> IsRight(const FileWanted& file, const PartFile& part);
  Status CheckMagic(const FileWanted& file, PartFile* part);
  Result<std::string> SumOf(const std::string& path, uint64_t bytes, const ContentSum& like,
                            const std::string& name);
  void Say(LogLevel level, const std::string& line) const;
  void Sleep(double ms) const;

  WebGet* const web_;
  const std::string hub_;
  const DownloadHooks hooks_;
  const DownloadRules rules_;
};

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_FILE_DOWNLOAD_H_
