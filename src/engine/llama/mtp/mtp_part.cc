#include "engine/llama/mtp/mtp_part.h"

#include <cstring>

namespace cairn {

void AppendMtpPart(const MtpPart& part, Bytes* bytes) {
  MtpTrailer trailer;
  trailer.kv_bytes = part.kv.size();
  trailer.row_bytes = part.row.size();
  trailer.position = part.position;
  const auto* const raw = reinterpret_cast<const uint8_t*>(&trailer);
  bytes->insert(bytes->end(), part.kv.begin(), part.kv.end());
  bytes->insert(bytes->end(), part.row.begin(), part.row.end());
  bytes->insert(bytes->end(), raw, raw + sizeof(trailer));
}

SplitState SplitOffMtpPart(ByteSpan bytes) {
  MtpTrailer trailer;
  if (bytes.size() < sizeof(trailer)) return {bytes, {}};
  const ByteSpan front = bytes.first(bytes.size() - sizeof(trailer));
  std::memcpy(&trailer, bytes.data() + front.size(), sizeof(trailer));
  const bool fits =
      trailer.kv_bytes <= front.size() && trailer.row_bytes <= front.size() - trailer.kv_bytes;
  if (trailer.magic != MtpTrailer().magic || !fits) return {bytes, {}};
  const size_t model_bytes = front.size() - trailer.kv_bytes - trailer.row_bytes;
  SplitState split;
  split.model = front.first(model_bytes);
  split.heads.kv = front.subspan(model_bytes, trailer.kv_bytes);
  split.heads.row = front.subspan(model_bytes + trailer.kv_bytes);
  split.heads.position = trailer.position;
  return split;
}

}  // namespace cairn
