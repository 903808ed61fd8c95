// MeasuredGrids: keeps the exactness grids (chunk alignments) measured on this machine in the cache
// folder, so that the next start need not measure them again.
//
//   DIR/grids/<hash of the facts>.txt     grid_tokens=64,at_messages=1, then the facts
//
// A file that is missing, unreadable or about other facts counts as no grid, and the grid is
// measured again.
//
// Threads: any.

#ifndef CAIRN_STORE_FOLDER_MEASURED_GRIDS_H_
#define CAIRN_STORE_FOLDER_MEASURED_GRIDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace cairn {

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

#endif  // CAIRN_STORE_FOLDER_MEASURED_GRIDS_H_
