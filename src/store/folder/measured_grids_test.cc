#include "store/folder/measured_grids.h"

#include <gtest/gtest.h>

#include "store/folder/identity.h"
#include "testing/base/memory_fs.h"

namespace cairn {
namespace {

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
