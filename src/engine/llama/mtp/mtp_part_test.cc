#include "engine/llama/mtp/mtp_part.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

Bytes Of(ByteSpan span) {
  return {span.begin(), span.end()};
}

TEST(MtpPart, ComesOffAgainAsItWasAppended) {
  const Bytes kv = {1, 2, 3};
  const Bytes row = {4, 5};
  Bytes bytes = {9, 8, 7};
  AppendMtpPart({kv, row, 12}, &bytes);
  const SplitState split = SplitOffMtpPart(bytes);
  EXPECT_EQ(Of(split.model), (Bytes{9, 8, 7}));
  EXPECT_EQ(Of(split.heads.kv), kv);
  EXPECT_EQ(Of(split.heads.row), row);
  EXPECT_EQ(split.heads.position, 12U);
}

TEST(MtpPart, BytesWithoutATrailerAreTheModels) {
  for (const size_t size : {size_t{0}, size_t{5}, size_t{200}}) {
    const Bytes bytes(size, 'x');
    const SplitState split = SplitOffMtpPart(bytes);
    EXPECT_EQ(split.model.size(), size);
    EXPECT_TRUE(split.heads.kv.empty());
    EXPECT_TRUE(split.heads.row.empty());
  }
}

TEST(MtpPart, SizesThatDoNotFitAreNoTrailer) {
  Bytes bytes = {1, 2, 3};
  const Bytes row = {4};
  AppendMtpPart({{}, row, 0}, &bytes);
  // The front is cut off, so the row and the model's bytes are too few, or larger sizes are
  // claimed.
  for (size_t field = 0; field < 16; ++field) {
    Bytes changed = bytes;
    changed[changed.size() - sizeof(MtpTrailer) + field] = 0xFF;
    EXPECT_EQ(SplitOffMtpPart(changed).model.size(), changed.size()) << field;
  }
}

}  // namespace
}  // namespace cairn
