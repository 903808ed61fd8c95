#include "store/folder/identity.h"

#include <gtest/gtest.h>

#include "testing/base/memory_fs.h"

namespace cairn {
namespace {

constexpr const char* kText = "model=12ab\ncache_type_k=f16\n";

TEST(Identity, HasAnotherFingerprintWhenAByteOfItChanges) {
  std::string text = kText;
  const Fingerprint fingerprint = FingerprintOf(text);
  EXPECT_EQ(FingerprintOf(kText), fingerprint);
  for (char& c : text) {
    c ^= 1;
    EXPECT_NE(FingerprintOf(text), fingerprint);
    c ^= 1;
  }
  EXPECT_NE(fingerprint.high, 0u);
  EXPECT_NE(fingerprint.low, 0u);
}

TEST(Identity, IsWrittenOnceAndReadBack) {
  MemoryFs fs;
  ASSERT_TRUE(WriteIdentity(&fs, "/cache", kText).has_value());
  const std::string model = ToText(FingerprintOf(kText));
  EXPECT_EQ(*ReadIdentity(fs, "/cache", model), kText);
  EXPECT_EQ(fs.Files(), std::vector<std::string>{"/cache/" + model + "/identity.txt"});
  const uint64_t created = fs.calls(FsCall::kCreate);
  ASSERT_TRUE(WriteIdentity(&fs, "/cache", kText).has_value());
  EXPECT_EQ(fs.calls(FsCall::kCreate), created);
}

TEST(Identity, IsNotTakenFromAnotherFolder) {
  MemoryFs fs;
  ASSERT_TRUE(WriteIdentity(&fs, "/cache", kText).has_value());
  const std::string model = ToText(FingerprintOf(kText));
  fs.FlipBit("/cache/" + model + "/identity.txt", 9);
  EXPECT_EQ(ReadIdentity(fs, "/cache", model).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(ReadIdentity(fs, "/cache", std::string(32, '0')).error().code, ErrorCode::kNotFound);
}

TEST(Identity, LeavesNothingBehindWhenItCannotBeWritten) {
  for (const FsCall call :
       {FsCall::kCreate, FsCall::kAppend, FsCall::kSync, FsCall::kClose, FsCall::kRename}) {
    MemoryFs fs;
    fs.Fail(call, 1, ErrorCode::kNoSpace);
    const Status written = WriteIdentity(&fs, "/cache", kText);
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, ErrorCode::kNoSpace);
    EXPECT_TRUE(fs.Files().empty());
  }
}

}  // namespace
}  // namespace cairn
