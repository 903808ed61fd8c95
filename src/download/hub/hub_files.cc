#include "download/hub/hub_files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr size_t kPathBytesMax = 1024;
constexpr size_t kListedMax = 40;

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string Capitals(std::string_view text) {
  std::string capitals(text);
  for (char& c : capitals) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return capitals;
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// "Q4_0" has 4, "BF16" 16; 0 if there is no number.
int BitsOf(std::string_view quant) {
  const size_t digit = quant.find_first_of("0123456789");
  return digit == std::string_view::npos ? 0 : std::atoi(std::string(quant.substr(digit)).c_str());
}

// Other GGUF files that repositories have: projectors, importance matrices, heads for drafting.
bool IsModel(std::string_view path) {
  const std::string_view name = FileName(path);
  constexpr std::array<std::string_view, 6> kOthers = {"mmproj",  "imatrix", "mtp-",
                                                       "eagle3-", "dflash-", "dspark-"};
  return name.ends_with(".gguf") && std::none_of(kOthers.begin(), kOthers.end(), [&](auto other) {
           return name.find(other) != std::string_view::npos;
         });
}

// Returns whether `quant` is a word of the path: "-" or "." follows it. `whole`: nothing of a
// longer word precedes it, so that F16 is not found in BF16.
bool Names(std::string_view path, std::string_view quant, bool whole) {
  const std::string in = Capitals(path);
  const std::string word = Capitals(quant);
  for (size_t at = in.find(word); at != std::string::npos; at = in.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool ends = end < in.size() && (in[end] == '-' || in[end] == '.');
    if (ends && (!whole || at == 0 || !IsWordCharacter(in[at - 1]))) return true;
  }
  return false;
}

const HubFile* FirstModel(const std::vector<HubFile>& files, std::string_view quant) {
  for (const bool whole : {true, false}) {
    for (const HubFile& file : files) {
      if (!IsModel(file.path) || ParseGgufName(file.path)->part != 1) continue;
      if (quant.empty() || Names(file.path, quant, whole)) return &file;
    }
  }
  return nullptr;
}

std::string Listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kListedMax); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kListedMax) {
    text += " and " + std::to_string(names.size() - kListedMax) + " more";
  }
  return text;
}

std::vector<std::string> ModelPaths(const std::vector<HubFile>& files) {
  std::vector<std::string> paths;
  for (const HubFile& file : files) {
    if (file.path.ends_with(".gguf")) paths.push_back(file.path);
  }
  return paths;
}

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<size_t>(in_a - a.begin());
}

tl::unexpected<Error> NoQuant(const std::vector<HubFile>& files, const HubName& name) {
  std::set<std::string> quants;
  for (const HubFile& file : files) {
    if (!IsModel(file.path)) continue;
    const std::string quant = QuantOf(*ParseGgufName(file.path));
    if (!quant.empty()) quants.insert(quant);
  }
  if (quants.empty()) {
    const std::vector<std::string> paths = ModelPaths(files);
    return Fail(
        ErrorCode::kNotFound,
        name.repo + " has no GGUF model" +
            (paths.empty() ? "; look for a repository of GGUF files, often named …-GGUF"
                           : " of that name, but " + Listed(paths) + "; name one with --hf-file"));
  }
  const std::string wanted = Capitals(name.quant);
  const auto distance = [&](const std::string& quant) {
    return std::tuple(std::abs(BitsOf(quant) - BitsOf(wanted)),
                      -static_cast<int>(CommonPrefix(quant, wanted)));
  };
  const auto nearest =
      std::min_element(quants.begin(), quants.end(),
                       [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return Fail(ErrorCode::kNotFound, name.repo + " has no file of the quantization " + name.quant +
                                        ", but " + Listed({quants.begin(), quants.end()}) +
                                        "; the nearest is -hf " + name.repo + ":" + *nearest);
}

Result<std::vector<HubFile>> WithParts(const std::vector<HubFile>& files, const HubFile& first) {
  const auto name = ParseGgufName(first.path);
  if (!name || name->parts == 1) return std::vector<HubFile>{first};
  std::vector<HubFile> parts;
  for (int part = 1; part <= name->parts; ++part) {
    const std::string path = PartName(*name, part);
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const HubFile& file) { return file.path == path; });
    if (found == files.end()) {
      return Fail(ErrorCode::kNotFound, "part " + std::to_string(part) + " of " +
                                            std::to_string(name->parts) + " is missing: " + path);
    }
    parts.push_back(*found);
  }
  return parts;
}

constexpr size_t kPageBytesMax = size_t{16} << 20U;
constexpr size_t kPagesMax = 50;
constexpr JsonLimits kLimits = {.depth_max = 32, .object_keys_max = 256, .values_max = 2'000'000};

bool IsCommit(const std::string& text) {
  return text.size() == 40 && ParseContentSum(text).known();
}

std::string TextOf(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->text() : std::string();
}

uint64_t NumberOf(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

tl::unexpected<Error> Unexpected(const std::string& url, const std::string& why) {
  return Fail(ErrorCode::kCorrupt,
              url + " answered something else than a list of files: it " + why);
}

std::optional<HubFile> FileOf(const Json& item) {
  if (!item.is_object() || TextOf(item, "type") != "file") return std::nullopt;
  HubFile file;
  file.path = TextOf(item, "path");
  if (!IsSafePath(file.path)) return std::nullopt;
  file.bytes = NumberOf(item, "size");
  file.sum = ParseContentSum(TextOf(item, "oid"));
  const auto lfs = item.find("lfs");
  if (lfs != item.end() && lfs->is_object()) {
    file.sum = ParseContentSum(TextOf(*lfs, "oid"));
    file.bytes = NumberOf(*lfs, "size");
  }
  return file;
}

// Returns the URL of the header `Link: <URL>; rel="next"`, or an empty string.
std::string NextPage(const TransferHead& head) {
  const std::string link = head.Header("Link");
  const size_t begin = link.find('<');
  const size_t end = link.find('>');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  if (link.find("rel=\"next\"", end) == std::string::npos) return "";
  return link.substr(begin + 1, end - begin - 1);
}

}  // namespace

Result<HubName> ParseHubName(std::string_view text) {
  HubName name;
  const size_t colon = text.rfind(':');
  name.repo = text.substr(0, colon);
  if (colon != std::string_view::npos) name.quant = text.substr(colon + 1);
  // Letters, digits and '_', and between them '/', '-' and '.', one at a time.
  bool valid = name.repo.size() <= kNameBytesMax && name.quant.size() <= kNameBytesMax &&
               std::count(name.repo.begin(), name.repo.end(), '/') == 1;
  bool after_word = false;
  for (const char c : name.repo) {
    const bool joins = c == '/' || c == '-' || c == '.';
    valid = valid && (IsWordCharacter(c) || (joins && after_word));
    after_word = !joins;
  }
  valid = valid && after_word && std::all_of(name.quant.begin(), name.quant.end(), [](char c) {
            return IsWordCharacter(c) || c == '-' || c == '.';
          });
  if (!valid || (colon != std::string_view::npos && name.quant.empty())) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + std::string(text.substr(0, kNameBytesMax)) +
                    "' is not of the form USER/REPO or USER/REPO:QUANT, such as "
                    "ggml-org/gemma-3-1b-it-GGUF:Q4_K_M");
  }
  return name;
}

bool IsSafePath(std::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax || path.front() == '/') return false;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F) return false;
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

std::string QuantOf(const GgufName& name) {
  const size_t joint = name.stem.find_last_of("-.");
  if (joint == std::string::npos) return {};
  const std::string_view word = std::string_view(name.stem).substr(joint + 1);
  return std::all_of(word.begin(), word.end(), IsWordCharacter) ? Capitals(word) : std::string();
}

Result<std::vector<HubFile>> ChooseModel(const std::vector<HubFile>& files, const HubName& name,
                                         const std::string& file) {
  if (!file.empty()) {
    const auto found = std::find_if(files.begin(), files.end(), [&](const HubFile& one) {
      return SameIgnoringCase(one.path, file);
    });
    if (found != files.end()) return WithParts(files, *found);
    const std::vector<std::string> paths = ModelPaths(files);
    return Fail(ErrorCode::kNotFound, name.repo + " has no file '" + file + "', but " +
                                          (paths.empty() ? "no GGUF file" : Listed(paths)));
  }
  const HubFile* found = nullptr;
  if (!name.quant.empty()) {
    found = FirstModel(files, name.quant);
  } else {
    for (const char* quant : {"Q4_K_M", "Q8_0", ""}) {
      if (found == nullptr) found = FirstModel(files, quant);
    }
  }
  if (found == nullptr) return NoQuant(files, name);
  return WithParts(files, *found);
}

std::optional<HubFile> ChooseProjector(const std::vector<HubFile>& files,
                                       const std::string& model_path) {
  const auto folder_of = [](std::string_view path) { return path.substr(0, path.rfind('/') + 1); };
  const std::string_view model_folder = folder_of(model_path);
  const auto model = ParseGgufName(model_path);
  const int bits = model ? BitsOf(QuantOf(*model)) : 0;
  std::optional<HubFile> best;
  std::tuple<int, int> best_rank;
  for (const HubFile& file : files) {
    const auto name = ParseGgufName(file.path);
    const std::string_view folder = folder_of(file.path);
    if (!name || file.path.find("mmproj") == std::string::npos) continue;
    if (!model_folder.starts_with(folder)) continue;  // that of another model
    const std::tuple rank(static_cast<int>(folder.size()),
                          -std::abs(BitsOf(QuantOf(*name)) - bits));
    if (best && rank <= best_rank) continue;
    best = file;
    best_rank = rank;
  }
  return best;
}

Error RefusalOf(const TransferHead& head, const std::string& what, const std::string& hub) {
  const std::string status = "status " + std::to_string(head.status);
  const std::string said = head.Header("X-Error-Message");
  const std::string more = said.empty() ? "" : " (" + said + ")";
  const bool gated = head.Header("X-Error-Code") == "GatedRepo";
  switch (head.status) {
    case 401:
      if (hub.empty()) {
        return {ErrorCode::kUnauthorized, what +
                                              " needs a login (status 401); download the file "
                                              "by other means and serve it with -m"};
      }
      return {ErrorCode::kUnauthorized,
              gated ? what + " is gated: accept its terms at " + hub + what +
                          " and set the environment variable HF_TOKEN to a token of your account"
                    : what + " is private or gated, or there is no such repository" + more +
                          ": check the name, or set the environment variable HF_TOKEN"};
    case 403:
      if (hub.empty()) return {ErrorCode::kUnauthorized, what + " is forbidden (status 403)"};
      return {ErrorCode::kUnauthorized, "the token in HF_TOKEN has no access to " + what + more +
                                            ": accept its terms at " + hub + what +
                                            ", or use another token"};
    case 404:
    case 410:
      return {ErrorCode::kNotFound, what + " is not there (" + status + ")" + more +
                                        ": check its spelling" +
                                        (hub.empty() ? "" : ", on " + hub)};
    default:
      return {ErrorCode::kUnavailable, what + ": the server answered with " + status + more};
  }
}

HubApi::HubApi(WebGet* web, std::string endpoint)
    : web_(web), endpoint_(endpoint.ends_with('/') ? std::move(endpoint) : endpoint + "/") {}

std::string HubApi::UrlOf(const std::string& repo, const std::string& commit,
                          const std::string& path) const {
  return endpoint_ + repo + "/resolve/" + commit + "/" + EscapedPath(path);
}

Result<WebGet::Page> HubApi::Get(const std::string& url, const std::string& repo) {
  auto page = web_->GetPage(url, kPageBytesMax);
  if (!page) return page;
  if (page->head.status != 200) {
    return tl::unexpected<Error>(RefusalOf(page->head, repo, endpoint_));
  }
  return page;
}

Result<std::string> HubApi::FindCommit(const std::string& repo) {
  const std::string url = endpoint_ + "api/models/" + repo + "/refs";
  const auto page = Get(url, repo);
  if (!page) return tl::unexpected(page.error());
  const auto json = ParseJson(page->text, kLimits);
  if (!json) return Unexpected(url, json.error().message);
  const auto branches = json->is_object() ? json->find("branches") : json->end();
  std::string first;
  if (branches != json->end() && branches->is_array()) {
    for (const Json& branch : *branches) {
      if (!branch.is_object()) continue;
      std::string commit = TextOf(branch, "targetCommit");
      if (!IsCommit(commit)) continue;
      if (TextOf(branch, "name") == "main") return commit;
      if (first.empty()) first = commit;
    }
  }
  if (first.empty()) return Unexpected(url, "has no branch");
  return first;
}

Result<HubListing> HubApi::List(const std::string& repo) {
  auto commit = FindCommit(repo);
  if (!commit) return tl::unexpected(commit.error());
  HubListing listing;
  listing.commit = *std::move(commit);
  std::string url =
      endpoint_ + "api/models/" + repo + "/tree/" + listing.commit + "?recursive=true";
  for (size_t pages = 0; !url.empty() && pages < kPagesMax; ++pages) {
    const auto page = Get(url, repo);
    if (!page) return tl::unexpected(page.error());
    const auto json = ParseJson(page->text, kLimits);
    if (!json) return Unexpected(url, json.error().message);
    if (!json->is_array()) return Unexpected(url, "is no array");
    for (const Json& item : *json) {
      if (auto file = FileOf(item)) listing.files.push_back(*std::move(file));
    }
    const std::string next = NextPage(page->head);
    url = next.starts_with(endpoint_) ? next : "";
  }
  return listing;
}

}  // namespace cairn
