#include "fleet/remote/s3/s3_objects.h"

#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/mutex.h"
#include "base/process/threads.h"
#include "base/text.h"

namespace cairn {
namespace {

constexpr long kS3ConnectMsMax = 2000;
// A transfer this slow for this long has hung.
constexpr long kBytesPerSMin = 1024;
constexpr long kSlowS = 2;
constexpr size_t kIdleHandlesMax = 8;
constexpr size_t kErrorBytesMax = 4096;
constexpr size_t kPageBytesMax = size_t{8} << 20;

struct EndHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct EndList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Handle = std::unique_ptr<CURL, EndHandle>;

struct Request {
  const char* method = "GET";
  std::string path = {};   // behind the bucket, or empty for the bucket itself
  std::string query = {};  // encoded, with '?'
  std::vector<std::string> headers = {};
  ByteSpan body = {};
  uint64_t bytes_max = 0;  // of the answer
};

struct Answer {
  long status = 0;
  Bytes body;
};

struct Sink {
  Bytes* bytes = nullptr;
  uint64_t bytes_max = 0;
  bool full = false;
  Status taken = {};  // an exception may not pass through libcurl
};

size_t OnReceived(char* data, size_t /*one*/, size_t size, void* to) {
  auto* const sink = static_cast<Sink*>(to);
  const size_t room = sink->bytes_max - sink->bytes->size();
  const size_t taken = std::min(size, room);
  sink->taken = TryWork([&] { sink->bytes->insert(sink->bytes->end(), data, data + taken); });
  sink->full = taken < size;
  return sink->full || !sink->taken ? 0 : size;  // 0 ends the transfer
}

// Returns 1 to end the transfer.
int OnProgress(void* cancelled, curl_off_t /*to_receive*/, curl_off_t /*received*/,
               curl_off_t /*to_send*/, curl_off_t /*sent*/) {
  return *static_cast<const std::atomic<bool>*>(cancelled) ? 1 : 0;
}

size_t OnWanted(char* to, size_t /*one*/, size_t size, void* from) {
  auto* const left = static_cast<ByteSpan*>(from);
  const size_t given = std::min(size, left->size());
  if (given > 0) std::memcpy(to, left->data(), given);
  *left = left->subspan(given);
  return given;
}

std::string Encoded(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return encoded;
}

// The word by which S3 names an error, such as "SignatureDoesNotMatch".
std::string ErrorWord(const Bytes& body) {
  const std::string text(body.begin(), body.end());
  const size_t begin = text.find("<Code>");
  const size_t end = text.find("</Code>");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::string word;
  for (const char c : text.substr(begin + 6, std::min<size_t>(end - begin - 6, 64))) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) word += c;
  }
  return word;
}

class S3Objects final : public RemoteObjects {
 public:
  explicit S3Objects(const S3Options& options) : options_(options) {
    while (options_.endpoint.ends_with('/')) options_.endpoint.pop_back();
    signature_ = "aws:amz:" + options_.region + ":s3";
  }

  Result<bool> Has(const std::string& path, Deadline deadline) override {
    const Request look{.method = "HEAD", .path = options_.prefix + path};
    const auto answer = Do(look, deadline);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->status == 404) return false;
    return StatusOf(*answer).transform([] { return true; });
  }

  Status Put(const std::string& path, ByteSpan bytes, Deadline deadline) override {
    Request put{.method = "PUT", .path = options_.prefix + path};
    put.headers = {"If-None-Match: *", "Content-Type: application/octet-stream", "Expect:"};
    put.body = bytes;
    put.bytes_max = kErrorBytesMax;
    const auto answer = Do(put, deadline);
    if (!answer) return tl::unexpected(answer.error());
    // 412: it is there; 409: another server is writing it now.
    if (answer->status == 412 || answer->status == 409) return {};
    return StatusOf(*answer);
  }

  Result<Bytes> Get(const std::string& path, uint64_t bytes_max, Deadline deadline) override {
    if (bytes_max == 0) return Bytes{};
    Request get{.method = "GET", .path = options_.prefix + path};
    get.headers = {"Range: bytes=0-" + std::to_string(bytes_max - 1)};
    get.bytes_max = std::max<uint64_t>(bytes_max, kErrorBytesMax);
    auto answer = Do(get, deadline);
    if (!answer) return tl::unexpected(answer.error());
    if (Status good = StatusOf(*answer); !good) return tl::unexpected(good.error());
    if (answer->body.size() > bytes_max) answer->body.resize(bytes_max);
    return std::move(answer->body);
  }

  Status Remove(const std::string& path, Deadline deadline) override {
    Request removal{.method = "DELETE", .path = options_.prefix + path};
    removal.bytes_max = kErrorBytesMax;
    const auto answer = Do(removal, deadline);
    if (!answer) return tl::unexpected(answer.error());
    return answer->status == 404 ? Status{} : StatusOf(*answer);
  }

  Status List(const std::string& prefix,
              const std::function<void(const std::string&, uint64_t)>& visit,
              Deadline deadline) override {
    std::string next;
    do {
      Request list;
      // In the order of their names, which the signature wants.
      list.query = "?";
      if (!next.empty()) list.query += "continuation-token=" + Encoded(next) + "&";
      list.query += "list-type=2&prefix=" + Encoded(options_.prefix + prefix);
      list.bytes_max = kPageBytesMax;
      const auto answer = Do(list, deadline);
      if (!answer) return tl::unexpected(answer.error());
      if (Status good = StatusOf(*answer); !good) return good;
      const auto page =
          ParseS3Page({reinterpret_cast<const char*>(answer->body.data()), answer->body.size()});
      if (!page) return tl::unexpected(page.error());
      for (const S3Page::Object& object : page->objects) {
        if (!object.key.starts_with(options_.prefix)) continue;
        visit(object.key.substr(options_.prefix.size()), object.bytes);
      }
      next = page->next;
    } while (!next.empty());
    return {};
  }

  void Cancel() override { cancelled_ = true; }

 private:
  Handle TakeHandle() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return Handle(curl_easy_init());
    Handle handle = std::move(idle_.back());
    idle_.pop_back();
    curl_easy_reset(handle.get());  // keeps its connections
    return handle;
  }
  void KeepHandle(Handle handle) {
    const MutexLock lock(mutex_);
    if (idle_.size() < kIdleHandlesMax) idle_.push_back(std::move(handle));
  }

  static Status StatusOf(const Answer& answer) {
    if (answer.status >= 200 && answer.status < 300) return {};
    const std::string word = ErrorWord(answer.body);
    const std::string what =
        "it answers " + std::to_string(answer.status) + (word.empty() ? "" : " " + word);
    if (answer.status == 404 && word != "NoSuchBucket") return Fail(ErrorCode::kNotFound, what);
    const bool full = answer.status == 507 || word == "QuotaExceeded" || word == "StorageFull" ||
                      word == "XMinioStorageFull";
    return Fail(full ? ErrorCode::kNoSpace : ErrorCode::kUnavailable, what);
  }

  static Error ErrorOf(CURLcode code) {
    const bool late = code == CURLE_OPERATION_TIMEDOUT;
    // libcurl's texts name no secret.
    return {late ? ErrorCode::kTimedOut : ErrorCode::kUnavailable, curl_easy_strerror(code)};
  }

  void SetConnection(CURL* handle, long ms_max) {
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, ms_max);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, std::min(ms_max, kS3ConnectMsMax));
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kBytesPerSMin);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, kSlowS);
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
    // The environment's proxies are for the web, not for a store of the team's.
    curl_easy_setopt(handle, CURLOPT_PROXY, "");
    if (!options_.ca_file.empty()) {
      curl_easy_setopt(handle, CURLOPT_CAINFO, options_.ca_file.c_str());
    }
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, OnProgress);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &cancelled_);
    curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, signature_.c_str());
    curl_easy_setopt(handle, CURLOPT_USERNAME, options_.access_key.c_str());
    curl_easy_setopt(handle, CURLOPT_PASSWORD, options_.secret_key.c_str());
  }

  Result<Answer> Do(const Request& request, Deadline deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return Fail(ErrorCode::kTimedOut, "no time was left");
    Handle handle = TakeHandle();
    if (handle == nullptr) return Fail(ErrorCode::kUnavailable, "out of memory");
    CURL* const curl = handle.get();
    SetConnection(curl, static_cast<long>(left.count()));
    const std::string slash = request.path.empty() ? "" : "/";
    const std::string url =
        options_.endpoint + "/" + options_.bucket + slash + request.path + request.query;
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_slist* list = curl_slist_append(nullptr, "x-amz-content-sha256: UNSIGNED-PAYLOAD");
    for (const std::string& header : request.headers) {
      list = curl_slist_append(list, header.c_str());
    }
    if (!options_.session_token.empty()) {
      const std::string token = "x-amz-security-token: " + options_.session_token;
      list = curl_slist_append(list, token.c_str());
    }
    const std::unique_ptr<curl_slist, EndList> headers(list);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    Answer answer;
    Sink sink{&answer.body, request.bytes_max};
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnReceived);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
    ByteSpan body = request.body;
    const std::string_view method = request.method;
    if (method == "PUT") {
      curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
      curl_easy_setopt(curl, CURLOPT_READFUNCTION, OnWanted);
      curl_easy_setopt(curl, CURLOPT_READDATA, &body);
      curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(body.size()));
    } else if (method == "HEAD") {
      curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (method != "GET") {
      curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method);
    }
    const CURLcode code = curl_easy_perform(curl);
    if (!sink.taken) return tl::unexpected(sink.taken.error());
    if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && sink.full)) {
      return tl::unexpected(ErrorOf(code));
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
    KeepHandle(std::move(handle));
    return answer;
  }

  S3Options options_;
  std::string signature_;
  std::atomic<bool> cancelled_{false};
  Mutex mutex_;
  std::vector<Handle> idle_ GUARDED_BY(mutex_);
};

// The texts of S3: endpoints, credentials files and pages of lists.

// Returns the text between <name> and </name>, and moves `xml` behind it; an empty view with no
// data if there is none.
std::string_view TakeElement(std::string_view name, std::string_view* xml) {
  const std::string open = "<" + std::string(name) + ">";
  const std::string close = "</" + std::string(name) + ">";
  const size_t begin = xml->find(open);
  if (begin == std::string_view::npos) return {};
  const size_t end = xml->find(close, begin);
  if (end == std::string_view::npos) return {};
  const std::string_view element = xml->substr(begin + open.size(), end - begin - open.size());
  xml->remove_prefix(end + close.size());
  return element;
}

std::string_view Element(std::string_view name, std::string_view xml) {
  return TakeElement(name, &xml);
}

std::string Unescaped(std::string_view text) {
  constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string plain;
  while (!text.empty()) {
    size_t size = 1;
    char next = text.front();
    for (const auto& [entity, letter] : kEntities) {
      if (!text.starts_with(entity)) continue;
      size = entity.size();
      next = letter;
    }
    plain += next;
    text.remove_prefix(size);
  }
  return plain;
}

}  // namespace

Result<std::unique_ptr<RemoteObjects>> MakeS3Objects(const S3Options& options) {
  constexpr unsigned kSignsSince = 0x075700;  // 7.87 is the first that signs uploads as S3 wants
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    return Fail(ErrorCode::kUnavailable, "libcurl cannot be started");
  }
  if (curl_version_info(CURLVERSION_NOW)->version_num < kSignsSince) {
    return Fail(ErrorCode::kUnsupported, "this libcurl is too old to sign requests to S3");
  }
  return std::make_unique<S3Objects>(options);
}

Result<S3Endpoint> ParseS3Endpoint(std::string_view text) {
  S3Endpoint endpoint;
  endpoint.tls = text.starts_with("https://");
  const auto invalid =
      Fail(ErrorCode::kInvalidArgument, "expected https://HOST or https://HOST:PORT");
  if (!endpoint.tls && !text.starts_with("http://")) return invalid;
  text.remove_prefix(endpoint.tls ? 8 : 7);
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.find_first_of("/?#@ ") != std::string_view::npos) return invalid;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return invalid;
    endpoint.host = text.substr(1, end - 1);
  } else {
    endpoint.host = text.substr(0, text.find(':'));
  }
  if (endpoint.host.empty()) return invalid;
  return endpoint;
}

Status ParseAwsCredentials(std::string_view text, S3Options* options) {
  size_t profiles = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with('[') && ++profiles > 1) break;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.starts_with('#')) continue;
    const std::string_view name = Trimmed(line.substr(0, equals));
    const std::string value(Trimmed(line.substr(equals + 1)));
    if (name == "aws_access_key_id") options->access_key = value;
    if (name == "aws_secret_access_key") options->secret_key = value;
    if (name == "aws_session_token") options->session_token = value;
  }
  if (!options->access_key.empty() && !options->secret_key.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "expected lines `aws_access_key_id = …` and `aws_secret_access_key = …`");
}

Result<S3Page> ParseS3Page(std::string_view xml) {
  if (xml.find("<ListBucketResult") == std::string_view::npos) {
    return Fail(ErrorCode::kCorrupt, "the list is none");
  }
  S3Page page;
  const bool more = Element("IsTruncated", xml) == "true";
  if (more) page.next = Unescaped(Element("NextContinuationToken", xml));
  if (more && page.next.empty()) return Fail(ErrorCode::kCorrupt, "the list has no next page");
  while (true) {
    const std::string_view contents = TakeElement("Contents", &xml);
    if (contents.empty()) return page;
    S3Page::Object object;
    object.key = Unescaped(Element("Key", contents));
    const std::string_view size = Element("Size", contents);
    std::from_chars(size.data(), size.data() + size.size(), object.bytes);
    if (object.key.empty()) return Fail(ErrorCode::kCorrupt, "an object of the list has no key");
    page.objects.push_back(std::move(object));
  }
}

}  // namespace cairn
