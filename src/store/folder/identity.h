// Identity: the text that a fingerprint is the hash of (from Engine::StateIdentity). It is stored
// in the fingerprint's folder, so that a person can see which model the objects belong to.
//
//   DIR/<fingerprint>/identity.txt
//
// Nothing depends on this file: the folder works without it.
//
// Threads: any.

#ifndef CAIRN_STORE_FOLDER_IDENTITY_H_
#define CAIRN_STORE_FOLDER_IDENTITY_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"
#include "store/object.h"

namespace cairn {

inline constexpr std::string_view kIdentityFile = "identity.txt";

Fingerprint FingerprintOf(std::string_view identity);

// Writes the file, and creates its folders, unless it exists. `folder` is DIR. Returns the errors
// of Fs.
Status WriteIdentity(Fs* fs, const std::string& folder, std::string_view identity);

// `model` is the fingerprint as text. Returns kNotFound if there is no file, and kCorrupt if its
// text does not hash to this fingerprint.
Result<std::string> ReadIdentity(const Fs& fs, const std::string& folder, const std::string& model);

// MeasuredGrids: keeps the exactness grids (chunk alignments) measured on this machine in the cache
// folder, so that the next start need not measure them again.
//
//   DIR/grids/<hash of the facts>.txt     grid_tokens=64,at_messages=1, then the facts
//
// A file that is missing, unreadable or about other facts counts as no grid, and the grid is
// measured again.
//
// Threads: any.

inline constexpr std::string_view kGridsFolder = "grids";

struct MeasuredGrid {
  size_t tokens = 0;         // 0: not known
  bool at_messages = false;  // it holds between message boundaries (tree/prompt_cuts.h)

  friend bool operator==(const MeasuredGrid&, const MeasuredGrid&) = default;
};

class MeasuredGrids {
 public:
  // `folder` is DIR. `fs` outlives the object.
  MeasuredGrids(Fs* fs, std::string folder);

  // Returns a grid of 0 tokens if none is known for the setup that `facts` describe
  // (LlamaEngine::GridFacts).
  MeasuredGrid Find(std::string_view facts) const;
  // Returns the errors of Fs.
  Status Keep(std::string_view facts, const MeasuredGrid& grid) const;

 private:
  std::string PathOf(std::string_view facts) const;

  Fs* const fs_;
  const std::string folder_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_FOLDER_IDENTITY_H_
