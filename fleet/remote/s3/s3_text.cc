// The texts of S3: endpoints, credentials files and pages of lists.

#include <charconv>

#include "base/text.h"
#include "fleet/remote/s3/s3_objects.h"

namespace cairn {
namespace {

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
