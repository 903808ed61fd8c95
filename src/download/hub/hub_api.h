// HubApi: asks a hub of models, such as Hugging Face's, for the files of a repository.

#ifndef CAIRN_DOWNLOAD_HUB_HUB_API_H_
#define CAIRN_DOWNLOAD_HUB_HUB_API_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "download/hub/hub_files.h"
#include "download/web/web_get.h"

namespace cairn {

// The files of a repository at one commit.
struct HubListing {
  std::string commit;  // 40 hexadecimal digits
  std::vector<HubFile> files;
};

// Not thread-safe.
class HubApi {
 public:
  // `endpoint` is the hub's address, with or without a slash at its end. `web` outlives this.
  HubApi(WebGet* web, std::string endpoint);

  // Lists the branch "main", or where there is none the first branch. Entries with unsafe paths are
  // left out.
  //
  // kUnauthorized: the hub wants a token, or another one. kNotFound: no such repository.
  // kUnavailable: the hub cannot be reached or is busy. kCorrupt: it answers something else.
  Result<HubListing> List(const std::string& repo);

  std::string UrlOf(const std::string& repo, const std::string& commit,
                    const std::string& path) const;

 private:
  Result<std::string> FindCommit(const std::string& repo);
  Result<WebGet::Page> Get(const std::string& url, const std::string& repo);

  WebGet* const web_;
  const std::string endpoint_;  // ends with a slash
};

// Returns the error of a hub's or a web server's response that is not the file or list asked for.
// `what` is its subject: "USER/REPO" or a URL; `hub` is the hub's address, empty for a plain URL.
Error RefusalOf(const TransferHead& head, const std::string& what, const std::string& hub);

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_HUB_HUB_API_H_
