// Damage to a cache's folder while no server runs on it.

#ifndef CAIRN_TESTS_SOAK_DAMAGE_H_
#define CAIRN_TESTS_SOAK_DAMAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "lab/client/seeded_text.h"

namespace cairn::soak {

// Damages or adds one file and returns how: "flipped a byte", "cut off", "emptied", "taken away",
// "swapped", "lengthened", "added an unknown file", "left half written". Returns an empty text if
// there is no file to damage yet.
std::string DamageFolder(const std::string& folder, SeededText* dice);

// The files in a cache's folder.
struct FolderFiles {
  size_t objects = 0;
  uint64_t object_bytes = 0;
  size_t unfinished = 0;  // that servers were writing
  size_t ours = 0;        // unknown files added by DamageFolder
};
FolderFiles CountFiles(const std::string& folder);

// Makes files that killed servers were writing two hours old: a server removes other servers' files
// after an hour.
void AgeUnfinished(const std::string& folder);

}  // namespace cairn::soak

#endif  // CAIRN_TESTS_SOAK_DAMAGE_H_
