// The files of a repository, and which of them `-hf USER/REPO:QUANT` means. The rules are
// llama-server's: the quantization is a part of the file's name, by default Q4_K_M, then Q8_0, then
// the first model there is; a projector is the file with "mmproj" in its name that is nearest to
// the model.

#ifndef CAIRN_DOWNLOAD_HUB_HUB_FILES_H_
#define CAIRN_DOWNLOAD_HUB_HUB_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/gguf/gguf_name.h"
#include "base/result.h"
#include "download/web/content_sum.h"

namespace cairn {

struct HubFile {
  std::string path;    // in the repository, with slashes
  uint64_t bytes = 0;  // 0 if it is not known
  ContentSum sum;
};

// A model of a hub as a person names it.
struct HubName {
  std::string repo;   // "USER/REPO"
  std::string quant;  // as given; empty for the default
};

// kInvalidArgument: not of the form USER/REPO[:QUANT].
Result<HubName> ParseHubName(std::string_view text);

// Returns whether a path that a server names stays inside the folder that it is put into.
bool IsSafePath(std::string_view path);

// Returns the quantization in a file's name, in capitals ("Q4_K_M"); empty if the name ends with no
// word.
std::string QuantOf(const GgufName& name);

// Returns the parts of the model, the first of them first. `file` overrides the quantization and is
// compared whatever its case. kNotFound: there is none; the message lists the files that there are,
// and the nearest quantization.
Result<std::vector<HubFile>> ChooseModel(const std::vector<HubFile>& files, const HubName& name,
                                         const std::string& file);

// Returns the projector for a model of the same repository, if there is any.
std::optional<HubFile> ChooseProjector(const std::vector<HubFile>& files,
                                       const std::string& model_path);

}  // namespace cairn

#endif  // CAIRN_DOWNLOAD_HUB_HUB_FILES_H_
