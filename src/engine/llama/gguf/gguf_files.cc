#include "engine/llama/gguf/gguf_files.h"

#include <llama.h>

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// The number of files of the model that the file begins; 1 if it is the complete model.
int FilesOf(const gguf_context* gguf) {
  const int64_t key = gguf_find_key(gguf, "split.count");
  if (key < 0 || gguf_get_kv_type(gguf, key) != GGUF_TYPE_UINT16) return 1;
  return std::max<int>(gguf_get_val_u16(gguf, key), 1);
}

// Returns the path of a sibling file, as libllama derives it from the first.
std::string PathOfFile(const std::string& first, int index, int files) {
  std::vector<char> text(first.size() + 64);
  if (llama_split_prefix(text.data(), text.size(), first.c_str(), 0, files) <= 0) return first;
  const std::string prefix = text.data();
  llama_split_path(text.data(), text.size(), prefix.c_str(), index, files);
  return text.data();
}

}  // namespace

Result<GgufFile> OpenGgufFile(std::string path) {
  GgufFile file{.path = std::move(path), .gguf = nullptr};
  file.gguf.reset(gguf_init_from_file(file.path.c_str(), {/*no_alloc=*/true, /*ctx=*/nullptr}));
  if (file.gguf == nullptr) {
    return Fail(ErrorCode::kNotFound,
                "the model file '" + file.path + "' cannot be read as a GGUF");
  }
  return file;
}

Result<std::vector<GgufFile>> OpenGgufFiles(const std::string& path) {
  std::vector<GgufFile> opened;
  int files = 1;
  for (int i = 0; i < files; ++i) {
    auto file = OpenGgufFile(i == 0 ? path : PathOfFile(path, i, files));
    if (!file) return tl::unexpected(file.error());
    if (i == 0) files = FilesOf(file->gguf.get());
    opened.push_back(*std::move(file));
  }
  return opened;
}

}  // namespace cairn
