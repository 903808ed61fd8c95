// PlayedHub: what a hub of models would answer, Hugging Face's API for the most part, and faults.
// FakeTransfer asks it in the process, HubServer over sockets.

#ifndef CAIRN_TESTING_DOWNLOAD_PLAYED_HUB_H_
#define CAIRN_TESTING_DOWNLOAD_PLAYED_HUB_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn {

// The digits of a content's SHA-256, or of git's SHA-1.
std::string Sha256Of(std::string_view content);
std::string GitSumOf(std::string_view content);

struct HubAsked {
  std::string method;
  std::string origin;  // whom the client asks: "http://127.0.0.1:1234"
  std::string target;  // path and query
  std::vector<std::pair<std::string, std::string>> headers;

  std::string Header(std::string_view name) const;
};

struct HubAnswer {
  int status = 200;
  // A Content-Length is added unless there is one, which may lie, or be empty: none is told.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // The connection ends behind so many bytes of the body; 0 with `refuses`: before the head.
  size_t sent_max = SIZE_MAX;
  bool refuses = false;
  int pause_ms = 0;  // of a HubServer, before each piece of the body

  void Set(std::string_view name, const std::string& value);  // replaces
  std::string Header(std::string_view name) const;
};

// Thread-safe. Set everything up before the first request.
class PlayedHub {
 public:
  // `hub` answers the API and redirects to files of `cdn`; both are origins.
  void SetOrigins(const std::string& hub, const std::string& cdn);
  // Adds a file to a repository; `lfs`: as large ones are, with a SHA-256.
  void Add(const std::string& repo, const std::string& path, const std::string& content,
           bool lfs = true);
  void Remove(const std::string& repo, const std::string& path);
  // Adds a file of a plain server: no redirect, no checksum. An empty `etag` sends none.
  void AddPlain(const std::string& path, const std::string& content, const std::string& etag);
  // Asks for a token; "wrong" tokens get a 403.
  void Gate(const std::string& repo, const std::string& token);
  // Entries of a listing on one page.
  void SetPageSize(size_t size);
  // Changes answers before they are sent. Called under a lock.
  void SetFault(std::function<void(const HubAsked&, HubAnswer*)> fault);

  HubAnswer Answer(const HubAsked& asked);

  std::string CommitOf(const std::string& repo) const;
  // All requests so far.
  std::vector<HubAsked> asked() const;
  size_t CountOf(const std::string& method, const std::string& in_target) const;

 private:
  struct File {
    std::string content;
    bool lfs = true;
  };
  struct Repo {
    std::map<std::string, File> files;
    std::string token;
  };
  struct Plain {
    std::string content;
    std::string etag;
  };

  HubAnswer Play(const HubAsked& asked) const;
  HubAnswer PlayApi(const std::string& target) const;
  HubAnswer PlayTree(const std::string& name, const Repo& repo, const std::string& query) const;
  HubAnswer PlayResolve(const HubAsked& asked, const std::string& target) const;
  std::string CommitOf(const Repo& repo) const;

  mutable std::mutex mutex_;
  std::string hub_ = "https://hub.test";
  std::string cdn_ = "https://cdn.test";
  std::map<std::string, Repo> repos_;
  std::map<std::string, Plain> plain_;
  size_t page_size_ = 1000;
  std::function<void(const HubAsked&, HubAnswer*)> fault_;
  std::vector<HubAsked> asked_;
};

// Answers a GET or HEAD of a content, with ranges.
HubAnswer PlayContent(const HubAsked& asked, const std::string& content, const std::string& etag);

}  // namespace cairn

#endif  // CAIRN_TESTING_DOWNLOAD_PLAYED_HUB_H_
