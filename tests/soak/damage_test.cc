#include "soak/damage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "made_model.h"

namespace cairn::soak {
namespace {

class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(model()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string model() const { return folder_ + "/0123"; }
  void Write(const std::string& name, size_t bytes) const {
    std::ofstream(model() + "/" + name) << std::string(bytes, 'x');
  }

  const std::string folder_ = test::OwnPath("damage_test");
  SeededText dice_{20261122, "damage"};
};

TEST_F(DamageTest, FindsNothingWhereThereIsNothing) {
  EXPECT_EQ(DamageFolder(folder_, &dice_), "");
  EXPECT_EQ(DamageFolder(folder_ + "/none", &dice_), "");
}

TEST_F(DamageTest, DoesEverythingToFilesInTime) {
  std::set<std::string> done;
  for (int i = 0; i < 200; ++i) {
    Write("a" + std::to_string(i % 3) + ".cairn", 5000);
    done.insert(DamageFolder(folder_, &dice_));
  }
  EXPECT_EQ(done,
            (std::set<std::string>{"flipped a bit", "cut off", "emptied", "taken away", "swapped",
                                   "lengthened", "added an unknown file", "left half written"}));
}

TEST_F(DamageTest, CountsFilesByWhatTheyAre) {
  Write("a.cairn", 500);
  Write("b.cairn", 300);
  Write("tmp-1-2", 100);
  Write("foreign-7.cairn", 100);
  Write("identity", 10);
  const FolderFiles files = CountFiles(folder_);
  EXPECT_EQ(files.objects, 2u);
  EXPECT_EQ(files.object_bytes, 800u);
  EXPECT_EQ(files.unfinished, 1u);
  EXPECT_EQ(files.ours, 1u);
}

}  // namespace
}  // namespace cairn::soak
