// Where models come from and go to, by the environment variables that llama-server and
// huggingface_hub have for it.

#ifndef CAIRN_DOWNLOAD_DOWNLOAD_SETTINGS_H_
#define CAIRN_DOWNLOAD_DOWNLOAD_SETTINGS_H_

#include <functional>
#include <string>

namespace cairn {

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

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_DOWNLOAD_SETTINGS_H_
