// S3 as the store of the bytes, on libcurl: PUT with If-None-Match, GET of a range, HEAD, DELETE
// and ListObjectsV2 with SigV4, in path style, so that every vendor's server will do. No libcurl
// type leaves s3_objects.cc.
//
// Threads: any; each call uses a connection of its own, and idle ones are kept.

#ifndef CAIRN_FLEET_REMOTE_S3_S3_OBJECTS_H_
#define CAIRN_FLEET_REMOTE_S3_S3_OBJECTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "fleet/remote/remote_objects.h"

namespace cairn {

struct S3Options {
  std::string endpoint;  // https://HOST[:PORT]
  std::string region;
  std::string bucket;
  std::string prefix;  // empty, or ends in '/'
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // empty if there is none
  std::string ca_file;        // empty: the system's authorities
};

struct S3Endpoint {
  std::string host;
  bool tls = false;
};

// kInvalidArgument if it is not http[s]://HOST[:PORT].
Result<S3Endpoint> ParseS3Endpoint(std::string_view text);

// Parses the first profile of a file like ~/.aws/credentials. kInvalidArgument, without a word of
// it in the message.
Status ParseAwsCredentials(std::string_view text, S3Options* options);

// The content of a page of ListObjectsV2.
struct S3Page {
  struct Object {
    std::string key;
    uint64_t bytes = 0;
  };
  std::vector<Object> objects;
  std::string next;  // the token of the next page; empty: it is the last
};
// kCorrupt if it is no such page.
Result<S3Page> ParseS3Page(std::string_view xml);

// kUnsupported if this libcurl cannot sign.
Result<std::unique_ptr<RemoteObjects>> MakeS3Objects(const S3Options& options);

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_S3_S3_OBJECTS_H_
