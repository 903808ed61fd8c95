#include "download/hub/hub_api.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json.h"

namespace cairn {
namespace {

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
      const std::string commit = TextOf(branch, "targetCommit");
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
