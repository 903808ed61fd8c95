// An index in a store of objects that has nothing but names: an empty object for each entry, whose
// name is the entry. A lookup lists the names of each block, several blocks at a time.
//
//   i1/<fingerprint>/<ns>/<block>/<end><entry>        in hexadecimal digits
//
// It needs no second server, and takes one LIST a block: prefer a Valkey (--remote-index) where
// there is one. Entries expire by the bucket's lifecycle rules only.
//
// Threads: any.

#ifndef CAIRN_FLEET_REMOTE_S3_S3_INDEX_H_
#define CAIRN_FLEET_REMOTE_S3_S3_INDEX_H_

#include <memory>

#include "fleet/remote/remote_objects.h"

namespace cairn {

// `objects` outlives the index.
std::unique_ptr<RemoteIndex> MakeS3Index(RemoteObjects* objects);

}  // namespace cairn

#endif  // CAIRN_FLEET_REMOTE_S3_S3_INDEX_H_
