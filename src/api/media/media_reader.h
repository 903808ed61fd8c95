// MediaReader: reads the images and recordings of one request, each from where its part says it is,
// within the rules of the server. Nothing is decoded here: a file is told by its first bytes.
//
//   data:image/png;base64,…     the bytes themselves
//   https://example.org/a.png   fetched, if the rules allow it (--allow-media-url)
//   file:///srv/media/a.png     a file below the folder of the rules (--media-path)
//   a.png                       the same, relative to that folder
//
// Every error is a 400 that begins with the part's place, "messages[2].content[1]: …", and says
// what to do.
//
// Used by one thread.

#ifndef CAIRN_API_MEDIA_MEDIA_READER_H_
#define CAIRN_API_MEDIA_MEDIA_READER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/api_error.h"
#include "api/media/media_rules.h"
#include "base/bytes.h"
#include "media/medium.h"

namespace cairn {

class MediaReader {
 public:
  // `rules` outlive it.
  explicit MediaReader(const MediaRules& rules) : rules_(rules) {}
  MediaReader(const MediaReader&) = delete;
  MediaReader& operator=(const MediaReader&) = delete;

  // Whether the request may have one more medium of the kind. The part's fields need not have been
  // looked at. `place` names the part as the client numbered it.
  ApiResult<void> Admit(MediumKind kind, const std::string& place) const;

  // Each reads a medium that was admitted. A file that the request has several times is one medium.
  ApiResult<MediumPtr> ReadUrl(MediumKind kind, const std::string& url, const std::string& place);
  ApiResult<MediumPtr> ReadBase64(MediumKind kind, std::string_view base64,
                                  const std::string& place);
  // Admits and reads a medium whose kind only its bytes tell.
  ApiResult<MediumPtr> ReadBase64OfAnyKind(std::string_view base64, const std::string& place);

 private:
  // Whether the request may have one more medium at all.
  ApiResult<void> AdmitOneMore(const std::string& place) const;
  ApiResult<Bytes> Decode(std::string_view base64, const std::string& place) const;
  ApiResult<Bytes> OfDataUrl(std::string_view url, const std::string& place) const;
  ApiResult<Bytes> Fetch(MediumKind kind, const std::string& url, const std::string& place) const;
  ApiResult<Bytes> OfFile(MediumKind kind, const std::string& url, const std::string& place) const;
  // Checks the file and keeps it.
  ApiResult<MediumPtr> Add(MediumKind kind, Bytes file, const std::string& place);
  ApiError TooLarge(const std::string& found, const std::string& place) const;

  const MediaRules& rules_;
  std::map<std::pair<uint64_t, uint64_t>, MediumPtr> media_;  // by content
  size_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace cairn

#endif  // CAIRN_API_MEDIA_MEDIA_READER_H_
