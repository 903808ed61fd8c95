// MeasuredGrids: exactness grids that were measured on this machine, kept in the cache folder, so
// that the next start measures nothing.
//
//   DIR/grids/<hash of the facts>.txt     grid_tokens=64, then the facts
//
// A file that is missing, cannot be read or is of other facts is no grid: it is measured again.
//
// Threads: any.

#ifndef CAIRN_STORE_MEASURED_GRIDS_H_
#define CAIRN_STORE_MEASURED_GRIDS_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace cairn {

inline constexpr std::string_view kGridsFolder = "grids";

class MeasuredGrids {
 public:
  // `folder`: DIR. `fs` outlives it.
  MeasuredGrids(Fs* fs, std::string folder);

  // 0: none is known for what `facts` describe (LlamaEngine::GridFacts).
  size_t Find(std::string_view facts) const;
  // Errors as Fs's.
  Status Keep(std::string_view facts, size_t grid_tokens) const;

 private:
  std::string PathOf(std::string_view facts) const;

  Fs* const fs_;
  const std::string folder_;
};

}  // namespace cairn

#endif  // CAIRN_STORE_MEASURED_GRIDS_H_
