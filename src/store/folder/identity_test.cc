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

constexpr std::string_view kFacts = "model=abc\nthreads=2\n";

void Overwrite(MemoryFs* fs, std::string_view text) {
  const std::string path = "cache/grids/" + ToText(FingerprintOf(kFacts)) + ".txt";
  auto writer = fs->Create(path);
  ASSERT_TRUE(writer) << writer.error().message;
  ASSERT_TRUE((*writer)->Append({reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
  ASSERT_TRUE((*writer)->Close());
}

TEST(MeasuredGrids, FindsWhatWasKeptForTheSameFactsAlone) {
  MemoryFs fs;
  const MeasuredGrids grids(&fs, "cache");
  EXPECT_EQ(grids.Find(kFacts), MeasuredGrid());
  ASSERT_TRUE(grids.Keep(kFacts, {128, true}));
  EXPECT_EQ(MeasuredGrids(&fs, "cache").Find(kFacts), (MeasuredGrid{128, true}));
  EXPECT_EQ(grids.Find("model=abc\nthreads=3\n"), MeasuredGrid());
  ASSERT_TRUE(grids.Keep(kFacts, {64, false}));
  EXPECT_EQ(grids.Find(kFacts), (MeasuredGrid{64, false}));
}

TEST(MeasuredGrids, AFileThatIsNotWholeOrOfOtherFactsIsNoGrid) {
  MemoryFs fs;
  const MeasuredGrids grids(&fs, "cache");
  ASSERT_TRUE(grids.Keep(kFacts, {64, true}));
  const std::string facts(kFacts);
  for (const std::string& text :
       {std::string(), std::string("grid_tokens=64"), "grid_tokens=64\n" + facts,
        "grid_tokens=64,at_messages=2\n" + facts, "grid_tokens=64,at_messages=1\nother=1\n" + facts,
        "grid_tokens=,at_messages=1\n" + facts, "grid_tokens=64x,at_messages=1\n" + facts,
        "grid_tokens=-64,at_messages=1\n" + facts,
        "grid_tokens=99999999999999999999,at_messages=1\n" + facts,
        "grid_tokens=1000000,at_messages=1\n" + facts, "grid=64\n" + facts}) {
    Overwrite(&fs, text);
    EXPECT_EQ(grids.Find(kFacts), MeasuredGrid()) << text;
  }
  Overwrite(&fs, "grid_tokens=64,at_messages=1\n" + facts);
  EXPECT_EQ(grids.Find(kFacts), (MeasuredGrid{64, true}));
}

}  // namespace
}  // namespace cairn
