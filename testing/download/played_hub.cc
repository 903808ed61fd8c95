#include "testing/download/played_hub.h"

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "base/text.h"
#include "download/web/content_sum.h"

namespace cairn {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

std::string FindHeader(const Headers& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [name](const auto& header) {
    return SameIgnoringCase(header.first, name);
  });
  return found == headers.end() ? std::string() : found->second;
}

std::string SumOf(std::string_view content, size_t digits) {
  ContentHash hash(ContentSum{std::string(digits, '0')}, content.size());
  hash.Add(BytesOf(content));
  return hash.Finish();
}

HubAnswer StatusAnswer(int status, const std::string& code) {
  HubAnswer answer;
  answer.status = status;
  if (!code.empty()) answer.Set("X-Error-Code", code);
  answer.body = "{\"error\":\"" + code + "\"}";
  return answer;
}

HubAnswer JsonAnswer(const Json& json) {
  HubAnswer answer;
  answer.Set("Content-Type", "application/json");
  answer.body = json.dump();
  return answer;
}

// Returns the path with escapes resolved.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain +=
          static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::string Sha256Of(std::string_view content) {
  return SumOf(content, 64);
}
std::string GitSumOf(std::string_view content) {
  return SumOf(content, 40);
}

std::string HubAsked::Header(std::string_view name) const {
  return FindHeader(headers, name);
}

std::string HubAnswer::Header(std::string_view name) const {
  return FindHeader(headers, name);
}

void HubAnswer::Set(std::string_view name, const std::string& value) {
  std::erase_if(headers, [name](const auto& one) { return SameIgnoringCase(one.first, name); });
  headers.emplace_back(name, value);
}

void PlayedHub::SetOrigins(const std::string& hub, const std::string& cdn) {
  const std::lock_guard<std::mutex> lock(mutex_);
  hub_ = hub;
  cdn_ = cdn;
}

void PlayedHub::Add(const std::string& repo, const std::string& path, const std::string& content,
                    bool lfs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  repos_[repo].files[path] = {content, lfs};
}

void PlayedHub::Remove(const std::string& repo, const std::string& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  repos_[repo].files.erase(path);
}

void PlayedHub::AddPlain(const std::string& path, const std::string& content,
                         const std::string& etag) {
  const std::lock_guard<std::mutex> lock(mutex_);
  plain_[path] = {content, etag};
}

void PlayedHub::Gate(const std::string& repo, const std::string& token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  repos_[repo].token = token;
}

void PlayedHub::SetPageSize(size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  page_size_ = size;
}

void PlayedHub::SetFault(std::function<void(const HubAsked&, HubAnswer*)> fault) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fault_ = std::move(fault);
}

HubAnswer PlayedHub::Answer(const HubAsked& asked) {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_.push_back(asked);
  HubAnswer answer = Play(asked);
  if (fault_) fault_(asked, &answer);
  const bool tells_length =
      std::any_of(answer.headers.begin(), answer.headers.end(),
                  [](const auto& one) { return SameIgnoringCase(one.first, "Content-Length"); });
  if (!tells_length) answer.Set("Content-Length", std::to_string(answer.body.size()));
  return answer;
}

std::vector<HubAsked> PlayedHub::asked() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return asked_;
}

size_t PlayedHub::CountOf(const std::string& method, const std::string& in_target) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(std::count_if(asked_.begin(), asked_.end(), [&](const HubAsked& one) {
    return one.method == method && one.target.find(in_target) != std::string::npos;
  }));
}

std::string PlayedHub::CommitOf(const Repo& repo) const {
  std::string all;
  for (const auto& [path, file] : repo.files) all += path + "\n" + Sha256Of(file.content) + "\n";
  return Sha256Of(all).substr(0, 40);
}

std::string PlayedHub::CommitOf(const std::string& repo) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return CommitOf(repos_.at(repo));
}

HubAnswer PlayedHub::Play(const HubAsked& asked) const {
  const std::string path = asked.target.substr(0, asked.target.find('?'));
  if (const auto plain = plain_.find(path); plain != plain_.end())
    return PlayContent(asked, plain->second.content, plain->second.etag);
  if (asked.origin == cdn_) {
    for (const auto& [name, repo] : repos_) {
      for (const auto& [file_path, file] : repo.files) {
        const std::string sum = Sha256Of(file.content);
        if (path == "/lfs/" + sum) return PlayContent(asked, file.content, "\"cdn-" + sum + "\"");
      }
    }
    return StatusAnswer(404, "");
  }
  for (const auto& [name, repo] : repos_) {
    const bool about =
        path.starts_with("/" + name + "/") || path.starts_with("/api/models/" + name + "/");
    if (!about) continue;
    const std::string given = asked.Header("Authorization");
    if (!repo.token.empty() && given.empty()) return StatusAnswer(401, "GatedRepo");
    if (!repo.token.empty() && given != "Bearer " + repo.token)
      return StatusAnswer(403, "GatedRepo");
    return path.starts_with("/api/") ? PlayApi(asked.target) : PlayResolve(asked, path);
  }
  return StatusAnswer(401, "RepoNotFound");
}

HubAnswer PlayedHub::PlayApi(const std::string& target) const {
  for (const auto& [name, repo] : repos_) {
    const std::string begin = "/api/models/" + name + "/";
    if (!target.starts_with(begin)) continue;
    const std::string rest = target.substr(begin.size());
    if (rest == "refs") {
      return JsonAnswer(
          {{"branches",
            {{{"name", "old"}, {"targetCommit", std::string(40, '0')}},
             {{"name", "main"}, {"ref", "refs/heads/main"}, {"targetCommit", CommitOf(repo)}}}},
           {"tags", Json::array()}});
    }
    if (rest.starts_with("tree/" + CommitOf(repo) + "?"))
      return PlayTree(name, repo, rest.substr(rest.find('?')));
  }
  return StatusAnswer(404, "EntryNotFound");
}

HubAnswer PlayedHub::PlayTree(const std::string& name, const Repo& repo,
                              const std::string& query) const {
  const size_t cursor = query.find("cursor=");
  const size_t begin =
      cursor == std::string::npos ? 0 : std::strtoull(query.c_str() + cursor + 7, nullptr, 10);
  Json list = Json::array();
  if (begin == 0) list.push_back({{"type", "directory"}, {"path", "a-folder"}, {"size", 0}});
  size_t at = 0;
  for (const auto& [path, file] : repo.files) {
    const size_t own = at++;
    if (own < begin || own >= begin + page_size_) continue;
    Json entry = {{"type", "file"}, {"path", path}, {"size", uint64_t{file.content.size()}}};
    if (file.lfs) {
      entry["oid"] = std::string(40, 'a');
      entry["lfs"] = {{"oid", Sha256Of(file.content)},
                      {"size", uint64_t{file.content.size()}},
                      {"pointerSize", 134}};
    } else {
      entry["oid"] = GitSumOf(file.content);
    }
    list.push_back(entry);
  }
  HubAnswer answer = JsonAnswer(list);
  if (begin + page_size_ < repo.files.size()) {
    answer.Set("Link", "<" + hub_ + "/api/models/" + name + "/tree/" + CommitOf(repo) +
                           "?recursive=true&cursor=" + std::to_string(begin + page_size_) +
                           ">; rel=\"next\"");
  }
  return answer;
}

HubAnswer PlayedHub::PlayResolve(const HubAsked& asked, const std::string& target) const {
  for (const auto& [name, repo] : repos_) {
    const std::string begin = "/" + name + "/resolve/" + CommitOf(repo) + "/";
    if (!target.starts_with(begin)) continue;
    const auto file = repo.files.find(Unescaped(target.substr(begin.size())));
    if (file == repo.files.end()) return StatusAnswer(404, "EntryNotFound");
    const std::string& content = file->second.content;
    if (!file->second.lfs) return PlayContent(asked, content, "\"" + GitSumOf(content) + "\"");
    HubAnswer answer;
    answer.status = 302;
    answer.Set("Location", cdn_ + "/lfs/" + Sha256Of(content) + "?signature=abc");
    answer.Set("X-Linked-Etag", "\"" + Sha256Of(content) + "\"");
    answer.Set("X-Linked-Size", std::to_string(content.size()));
    answer.body = "Found. Redirecting";
    return answer;
  }
  return StatusAnswer(404, "EntryNotFound");
}

HubAnswer PlayContent(const HubAsked& asked, const std::string& content, const std::string& etag) {
  HubAnswer answer;
  if (!etag.empty()) answer.Set("ETag", etag);
  answer.Set("Accept-Ranges", "bytes");
  const std::string range = asked.Header("Range");
  const std::string only_if = asked.Header("If-Range");
  if (range.starts_with("bytes=") && (only_if.empty() || only_if == etag)) {
    const size_t begin = std::strtoull(range.c_str() + 6, nullptr, 10);
    if (begin >= content.size()) {
      answer.status = 416;
      answer.Set("Content-Range", "bytes */" + std::to_string(content.size()));
      return answer;
    }
    answer.status = 206;
    answer.Set("Content-Range", "bytes " + std::to_string(begin) + "-" +
                                    std::to_string(content.size() - 1) + "/" +
                                    std::to_string(content.size()));
    answer.body = content.substr(begin);
    return answer;
  }
  answer.body = content;
  return answer;
}

}  // namespace cairn
