// What may befall a cache's folder while no server runs on it.

#ifndef CAIRN_TESTS_SOAK_DAMAGE_H_
#define CAIRN_TESTS_SOAK_DAMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lab/client/seeded_text.h"

namespace cairn::soak {

// Does one thing to one file, or adds one, and says what: "flipped a byte", "cut off", "emptied",
// "taken away", "swapped", "lengthened", "added an unknown file", "left half written". Empty: there
// is nothing yet that could be damaged.
std::string DamageFolder(const std::string& folder, SeededText* dice);

// What is in a cache's folder.
struct FolderFiles {
  size_t objects = 0;
  uint64_t object_bytes = 0;
  size_t unfinished = 0;  // files that servers were writing
  size_t ours = 0;        // unknown ones that DamageFolder added
};
FolderFiles CountFiles(const std::string& folder);

// Makes what servers were writing when they were killed two hours old: files of others are removed
// when they are an hour old.
void AgeUnfinished(const std::string& folder);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_DAMAGE_H_
