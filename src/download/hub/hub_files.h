// The files of a repository, and which of them `-hf USER/REPO:QUANT` means. The rules are
// llama-server's: the quantization is a part of the file's name, by default Q4_K_M, then Q8_0, then
// the first model there is; a projector is the file with "mmproj" in its name that is nearest to
// the model.

#ifndef CAIRN_DOWNLOAD_HUB_HUB_FILES_H_
#define CAIRN_DOWNLOAD_HUB_HUB_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/gguf/gguf_name.h"
#include "base/result.h"
#include "download/web/content_sum.h"
#include "download/web/transfer.h"

namespace cairn {

struct HubFile {
  std::string path;    // in the repository, with slashes
  uint64_t bytes = 0;  // 0 if it is not known
  ContentSum sum;
};

// A model of a hub as a person names it.
struct HubName {
  std::string repo;   // "USER/REPO"
  std::string quant;  // as given; empty for the default
};

// kInvalidArgument: not of the form USER/REPO[:QUANT].
Result<HubName> ParseHubName(std::string_view text);

// Returns whether a path that a server names stays inside the folder that it is put into.
bool IsSafePath(std::string_view path);

// Returns the quantization in a file's name, in capitals ("Q4_K_M"); empty if the name ends with no
// word.
std::string QuantOf(const GgufName& name);

// Returns the parts of the model, the first of them first. `file` overrides the quantization and is
// compared whatever its case. kNotFound: there is none; the message lists the files that there are,
// and the nearest quantization.
Result<std::vector<HubFile>> ChooseModel(const std::vector<HubFile>& files, const HubName& name,
                                         const std::string& file);

// Returns the projector for a model of the same repository, if there is any.
std::optional<HubFile> ChooseProjector(const std::vector<HubFile>& files,
                                       const std::string& model_path);

// HubApi: asks a hub of models, such as Hugging Face's, for the files of a repository.

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

#endif  // CAIRN_DOWNLOAD_HUB_HUB_FILES_H_
