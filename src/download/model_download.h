// ModelDownload: finds the model that a person names, by a hub's repository or by a URL, on this
// machine or downloads it.
//
// A repository's files go to the folder that llama-server and huggingface_hub share (hub_cache.h).
// Every start asks the hub for the newest commit; a hub that cannot be reached is no error if the
// files are here. A file of a plain URL has no checksum that anyone states: it has a folder of its
// own for each URL, and is compared by its ETag at each start.

#ifndef CAIRN_DOWNLOAD_MODEL_DOWNLOAD_H_
#define CAIRN_DOWNLOAD_MODEL_DOWNLOAD_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "download/file_download.h"
#include "download/hub/hub_cache.h"
#include "download/hub/hub_files.h"
#include "download/web/transfer.h"

namespace cairn {

// Where models come from and go to, by the environment variables that llama-server and
// huggingface_hub have for it.
struct DownloadSettings {
  std::string endpoint = "https://huggingface.co/";  // MODEL_ENDPOINT, HF_ENDPOINT
  std::string token;                                 // empty for none
  // LLAMA_CACHE, HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub,
  // ~/.cache/huggingface/hub; empty if none of them is set, nor HOME.
  std::string hub_folder;
  // For files of a plain URL: LLAMA_CACHE/cairn-urls, XDG_CACHE_HOME/cairn-urls,
  // ~/.cache/cairn-urls; empty likewise.
  std::string url_folder;
  bool offline = false;  // HF_HUB_OFFLINE, LLAMA_OFFLINE
};

// `variable` returns the value of an environment variable, empty if it is not set. The token is
// HF_TOKEN's, or else that of the file which `hf auth login` writes: HF_TOKEN_PATH, HF_HOME/token,
// ~/.cache/huggingface/token.
DownloadSettings SettingsOf(const std::function<std::string(const std::string& name)>& variable);

// By the variables of this process.
DownloadSettings SettingsOfEnvironment();

struct HubModelWanted {
  std::string name;       // "USER/REPO[:QUANT]"
  std::string file;       // overrides QUANT; empty for none
  bool projector = true;  // if the repository has one
};

struct DownloadedModel {
  std::string path;            // the first part's
  std::string projector_path;  // empty if there is none
};

// Not thread-safe. Blocks as long as the download takes.
class ModelDownload {
 public:
  // `transfer` outlives this.
  ModelDownload(Transfer* transfer, DownloadSettings settings, DownloadHooks hooks,
                DownloadRules rules = {});

  // kInvalidArgument: not such a name. kNotFound: the hub has no such repository or file, or with
  // `offline` it is not here. Others: those of FileDownload::Get.
  Result<DownloadedModel> FromHub(const HubModelWanted& wanted);

  // Returns the path of the file, of a split model that of its first part. `path` is the final
  // name, empty for one in the folder of URLs.
  Result<std::string> FromUrl(const std::string& url, const std::string& path);

 private:
  struct Choice {
    std::string commit;
    std::vector<HubFile> files;  // the model's parts, then the projector
    size_t parts = 0;
  };

  Result<Choice> Choose(const std::string& commit, const std::vector<HubFile>& files,
                        const HubName& name, const HubModelWanted& wanted) const;
  Result<DownloadedModel> FromCache(const HubName& name, const HubModelWanted& wanted);
  Status DownloadAll(const std::string& repo, const Choice& choice);
  Status DownloadUrl(const std::string& url, const std::string& path);
  DownloadedModel ModelOf(const std::string& repo, const Choice& choice) const;

  const DownloadSettings settings_;
  const DownloadHooks hooks_;
  const DownloadRules rules_;
  WebGet web_;
  HubApi api_;
  HubCache cache_;
  FileDownload hub_files_;
  FileDownload url_files_;
};

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_MODEL_DOWNLOAD_H_
