#include "cmd/serve/media/media_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>

#include "http/http_client.h"

namespace cairn {
namespace {

constexpr const char* kMediaGroup = "Images and audio";

void AddProjectorFlags(CLI::App* serve, MediaOptions* options) {
  constexpr int32_t kTokensMax = std::numeric_limits<int32_t>::max();
  serve
      ->add_option("--mmproj", options->mmproj_path,
                   "GGUF file of the model's projector (-mm), which turns images or audio into "
                   "tokens; without it requests are text only")
      ->group(kMediaGroup);
  serve
      ->add_flag("--mmproj-offload,!--no-mmproj-offload", options->mmproj_offload,
                 "Run the projector on the GPU")
      ->group(kMediaGroup);
  serve
      ->add_option("--image-min-tokens", options->image_tokens_min,
                   "Minimum tokens of an image, for models of variable resolution: smaller images "
                   "are enlarged (default: the model's)")
      ->check(CLI::Range(int32_t{1}, kTokensMax))
      ->group(kMediaGroup);
  serve
      ->add_option("--image-max-tokens", options->image_tokens_max,
                   "Maximum tokens of an image, for models of variable resolution: larger images "
                   "are reduced (default: the model's)")
      ->check(CLI::Range(int32_t{1}, kTokensMax))
      ->group(kMediaGroup);
}

}  // namespace

void AddMediaFlags(CLI::App* serve, MediaOptions* options) {
  AddProjectorFlags(serve, options);
  serve
      ->add_flag("--allow-media-url", options->allow_url,
                 "Fetch images and audio that requests name by an http or https URL. Then clients "
                 "can make this machine send requests to every address that it reaches")
      ->group(kMediaGroup);
  serve
      ->add_option("--media-path", options->media_path,
                   "Folder whose files requests may name, by file:// URLs or paths relative to it "
                   "(default: none)")
      ->check(CLI::ExistingDirectory)
      ->group(kMediaGroup);
  serve
      ->add_option("--media-file-mib", options->media_file_mib,
                   "Maximum size in MiB of an image or audio file. In a request it is base64, a "
                   "third larger, and --max-body limits the whole request")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->group(kMediaGroup);
  serve
      ->add_option("--media-max", options->media_max,
                   "Maximum images and audio files of a request, those of earlier turns included")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group(kMediaGroup);
}

Status CheckMediaFlags(const MediaOptions& options) {
  if (options.image_tokens_max > 0 && options.image_tokens_min > options.image_tokens_max) {
    return Fail(ErrorCode::kInvalidArgument,
                "--image-min-tokens " + std::to_string(options.image_tokens_min) +
                    " is more than --image-max-tokens " + std::to_string(options.image_tokens_max) +
                    "; raise the one or lower the other");
  }
  return {};
}

MediaRules MediaRulesOf(const MediaOptions& options) {
  MediaRules rules;
  rules.takes_images = !options.mmproj_path.empty();
  rules.takes_audio = rules.takes_images;
  rules.file_bytes_max = options.media_file_mib << 20U;
  rules.all_bytes_max = std::max(rules.all_bytes_max, rules.file_bytes_max);
  rules.media_max = options.media_max;
  rules.allow_url = options.allow_url;
  rules.media_path = options.media_path;
  if (rules.allow_url) {
    rules.fetch = [](const std::string& url, size_t bytes_max) { return FetchUrl(url, bytes_max); };
  }
  return rules;
}

}  // namespace cairn
