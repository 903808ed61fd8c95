#include "download/download_settings.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace cairn {
namespace {

// A token is one word; an end of line would end the header that it is sent in.
std::string FirstWord(std::string text) {
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7F'; };
  const auto begin = std::find_if(text.begin(), text.end(), is_plain);
  const auto end = std::find_if_not(begin, text.end(), is_plain);
  return {begin, end};
}

std::string WordOfFile(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return FirstWord(std::move(line));
}

}  // namespace

DownloadSettings SettingsOf(const std::function<std::string(const std::string& name)>& variable) {
  DownloadSettings settings;
  for (const char* name : {"HF_ENDPOINT", "MODEL_ENDPOINT"}) {
    if (const std::string value = variable(name); !value.empty()) settings.endpoint = value;
  }
  if (!settings.endpoint.ends_with('/')) settings.endpoint += '/';

  const std::string home = variable("HOME");
  const std::string caches = !variable("XDG_CACHE_HOME").empty() ? variable("XDG_CACHE_HOME")
                             : !home.empty()                     ? home + "/.cache"
                                                                 : "";
  std::string hugging_face = variable("HF_HOME");
  if (hugging_face.empty() && !caches.empty()) hugging_face = caches + "/huggingface";
  if (!hugging_face.empty()) settings.hub_folder = hugging_face + "/hub";
  for (const char* name : {"HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE", "LLAMA_CACHE"}) {
    if (const std::string value = variable(name); !value.empty()) settings.hub_folder = value;
  }
  const std::string own = variable("LLAMA_CACHE");
  if (!own.empty() || !caches.empty()) {
    settings.url_folder = (own.empty() ? caches : own) + "/cairn-urls";
  }

  settings.token = FirstWord(variable("HF_TOKEN"));
  if (settings.token.empty()) {
    const std::string named = variable("HF_TOKEN_PATH");
    if (!named.empty()) {
      settings.token = WordOfFile(named);
    } else if (!hugging_face.empty()) {
      settings.token = WordOfFile(hugging_face + "/token");
    }
  }
  for (const char* name : {"HF_HUB_OFFLINE", "LLAMA_OFFLINE"}) {
    const std::string value = variable(name);
    for (const char* yes : {"1", "true", "TRUE", "on", "ON", "yes", "YES"}) {
      settings.offline = settings.offline || value == yes;
    }
  }
  return settings;
}

DownloadSettings SettingsOfEnvironment() {
  return SettingsOf([](const std::string& name) -> std::string {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  });
}

}  // namespace cairn
