// The payload of a stored object of kind kMediaRows: the rows of one medium, by piece.
//
//   | key 16 | pieces 4 | rows 4 | positions 4 | row floats 4 | flags 4 | row positions | rows | …
//                       |<--------------------- of each piece ------------------------------>|
//
// docs/format.md specifies it. Numbers have the machine's own order; the fingerprint of the object
// names the machine.
//
// Pure functions; any thread.

#ifndef CAIRN_SCHED_MEDIA_MEDIA_ROWS_FORMAT_H_
#define CAIRN_SCHED_MEDIA_MEDIA_ROWS_FORMAT_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "media/media_encoder.h"

namespace cairn {

// The pieces of a medium that have rows.
using EncodedPieces = std::vector<std::shared_ptr<const EncodedPiece>>;

// `key` names the medium and everything else that the rows depend on.
Bytes EncodeRows(const Bits128& key, const EncodedPieces& pieces);
// Returns nullopt if `payload` is not the rows of `key`, whatever its bytes are.
std::optional<EncodedPieces> DecodeRows(const Bits128& key, ByteSpan payload);

}  // namespace cairn

#endif  // CAIRN_SCHED_MEDIA_MEDIA_ROWS_FORMAT_H_
