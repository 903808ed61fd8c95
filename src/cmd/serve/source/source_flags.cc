#include "cmd/serve/source/source_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "cmd/lib/progress_line.h"
#include "download/model_download.h"
#include "download/web/curl_transfer.h"
#include "download/web/transfer.h"

namespace cairn {
namespace {

bool Downloads(const SourceOptions& source) {
  return !source.hub_name.empty() || !source.model_url.empty() || !source.mmproj_url.empty() ||
         !source.draft_hub_name.empty();
}

// One line for each download or check, one after the other.
class ProgressLines {
 public:
  void Update(const std::string& what, double share) {
    if (what != what_) {
      line_.reset();
      line_.emplace(what);
      what_ = what;
    }
    line_->Update(static_cast<float>(share));
  }

 private:
  std::string what_;
  std::optional<ProgressLine> line_;
};

Status FetchFromHub(ModelDownload* download, ServeOptions* options) {
  const SourceOptions& source = options->source;
  HubModelWanted wanted{source.hub_name, source.hub_file, false};
  wanted.projector =
      source.mmproj_auto && options->media.mmproj_path.empty() && source.mmproj_url.empty();
  auto model = download->FromHub(wanted);
  if (!model) return tl::unexpected(model.error());
  options->llama.model_path = model->path;
  if (!model->projector_path.empty()) options->media.mmproj_path = model->projector_path;
  return {};
}

Status FetchAll(ModelDownload* download, ServeOptions* options) {
  const SourceOptions& source = options->source;
  if (!source.hub_name.empty()) {
    if (Status got = FetchFromHub(download, options); !got) return got;
  }
  if (!source.model_url.empty()) {
    auto path = download->FromUrl(source.model_url, options->llama.model_path);
    if (!path) return tl::unexpected(path.error());
    options->llama.model_path = *path;
  }
  if (!source.mmproj_url.empty()) {
    auto path = download->FromUrl(source.mmproj_url, options->media.mmproj_path);
    if (!path) return tl::unexpected(path.error());
    options->media.mmproj_path = *path;
  }
  if (!source.draft_hub_name.empty()) {
    auto draft = download->FromHub({source.draft_hub_name, "", false});
    if (!draft) return tl::unexpected(draft.error());
    options->draft_model_path = draft->path;
  }
  return {};
}

}  // namespace

void AddSourceFlags(CLI::App* serve, ServeOptions* options) {
  SourceOptions* source = &options->source;
  serve
      ->add_option("-m,--model", options->llama.model_path,
                   "GGUF file to serve; for a split model, its first part. With --model-url: the "
                   "file to download it to")
      ->group(kModelGroup);
  serve
      ->add_option("--hf-repo", source->hub_name,
                   "USER/REPO[:QUANT] on Hugging Face (-hf): download the model and its projector, "
                   "unless they are here, and serve them. QUANT: Q4_K_M, or Q8_0, or the first "
                   "there is. HF_TOKEN has the token for gated repositories, HF_ENDPOINT another "
                   "hub; files go to LLAMA_CACHE or the folder of huggingface_hub")
      ->group(kModelGroup);
  serve
      ->add_option("--hf-file", source->hub_file,
                   "File of the repository (-hff); overrides QUANT of --hf-repo")
      ->group(kModelGroup);
  serve
      ->add_option(
          "--model-url", source->model_url,
          "URL of a GGUF file to download and serve (-mu); for a split model, of its first "
          "part")
      ->group(kModelGroup);
  serve
      ->add_flag("--offline", source->offline,
                 "Download nothing: serve models of --hf-repo and --model-url that are here")
      ->group(kModelGroup);
  serve
      ->add_option("--mmproj-url", source->mmproj_url,
                   "URL of a projector to download (-mmu); see --mmproj")
      ->group("Images and audio");
  serve
      ->add_flag("--mmproj-auto,!--no-mmproj-auto,!--no-mmproj", source->mmproj_auto,
                 "Take the projector of the repository of --hf-repo, if it has one")
      ->group("Images and audio");
  serve
      ->add_option("--spec-draft-hf", source->draft_hub_name,
                   "USER/REPO[:QUANT] of the draft model (-hfd), as --hf-repo")
      ->group("Speculative decoding");
}

bool NamesModel(const ServeOptions& options) {
  return !options.llama.model_path.empty() || !options.source.hub_name.empty() ||
         !options.source.model_url.empty();
}

Status CheckSourceFlags(const ServeOptions& options) {
  const SourceOptions& source = options.source;
  const auto refuse = [](const char* why) { return Fail(ErrorCode::kInvalidArgument, why); };
  const bool has_path = !options.llama.model_path.empty();
  if (!NamesModel(options)) {
    return refuse(
        "no model is named, and none was downloaded before; give a file with -m, a repository with "
        "-hf USER/REPO[:QUANT], a URL with -mu, or several models with --models-dir or "
        "--models-preset");
  }
  if (!source.hub_name.empty() && (has_path || !source.model_url.empty())) {
    return refuse("--hf-repo and --model or --model-url name two models; give one of them");
  }
  if (!source.hub_file.empty() && source.hub_name.empty()) {
    return refuse("--hf-file names a file of a repository; give it too, with --hf-repo USER/REPO");
  }
  if (!source.draft_hub_name.empty() && !options.draft_model_path.empty()) {
    return refuse("--spec-draft-hf and --model-draft name two draft models; give one of them");
  }
  return {};
}

std::vector<std::string> NamesIn(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t begin = part.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    names.push_back(part.substr(begin, part.find_last_not_of(' ') + 1 - begin));
  }
  return names;
}

std::string ModelNameOf(const ServeOptions& options) {
  const std::vector<std::string> names = NamesIn(options.alias);
  if (!names.empty()) return names.front();
  if (!options.source.hub_name.empty()) return options.source.hub_name;
  if (options.llama.model_path.empty()) {
    const auto url = ParseWebUrl(options.source.model_url);
    if (url) return FileNameOf(*url);
  }
  return std::filesystem::path(options.llama.model_path).filename().string();
}

Status FetchModels(ServeOptions* options, const LogSink& log, bool shows_progress) {
  if (!Downloads(options->source)) return {};
  DownloadSettings settings = SettingsOfEnvironment();
  settings.offline = settings.offline || options->source.offline;
  ProgressLines lines;
  DownloadHooks hooks;
  hooks.log = log;
  if (shows_progress) {
    hooks.progress = [&lines](const std::string& what, double share) { lines.Update(what, share); };
  }
  const std::unique_ptr<Transfer> transfer = MakeCurlTransfer();
  ModelDownload download(transfer.get(), std::move(settings), std::move(hooks));
  return FetchAll(&download, options);
}

}  // namespace cairn
