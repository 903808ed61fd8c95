#include "engine/llama/backend/computing_libraries.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>

#if __has_include(<link.h>)
#include <elf.h>
#include <link.h>
#define CAIRN_HAS_LINK_MAP 1
#endif

#include "base/text.h"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 15> kPrefixes = {
    "libllama",    "libggml",   "libmtmd",   "libblas",    "libcblas",
    "libopenblas", "libmkl_",   "libcublas", "libcudart",  "librocblas",
    "libhipblas",  "libamdhip", "libsycl",   "libvulkan_", "libnvidia-"};
constexpr std::array<std::string_view, 6> kVariables = {"GGML_",   "OPENBLAS_",   "MKL_",
                                                        "CUBLAS_", "NVIDIA_TF32", "ROCBLAS_"};

std::string_view FileOf(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

#ifdef CAIRN_HAS_LINK_MAP

std::string Hexadecimal(const uint8_t* bytes, size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 15U];
  }
  return text;
}

constexpr size_t Padded(size_t size) {
  return (size + 3) & ~size_t{3};
}

// Returns the build ID in a segment of notes; empty if it has none.
std::string BuildIdIn(const uint8_t* notes, size_t bytes) {
  size_t at = 0;
  ElfW(Nhdr) note;
  while (at + sizeof(note) <= bytes) {
    std::memcpy(&note, notes + at, sizeof(note));
    const size_t name = at + sizeof(note);
    const size_t content = name + Padded(note.n_namesz);
    const size_t end = content + Padded(note.n_descsz);
    if (end > bytes) return "";
    const bool is_gnu = note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID)
      return Hexadecimal(notes + content, note.n_descsz);
    at = end;
  }
  return "";
}

std::string BuildIdOf(const dl_phdr_info& object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    // The loader gives addresses as numbers.
    const auto* const notes =
        reinterpret_cast<const uint8_t*>(  // NOLINT(performance-no-int-to-ptr)
            object.dlpi_addr + header.p_vaddr);
    std::string id = BuildIdIn(notes, header.p_memsz);
    if (!id.empty()) return id;
  }
  return "";
}

int NoteObject(dl_phdr_info* object, size_t /*size*/, void* found) {
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (!IsComputingLibrary(path)) return 0;
  const std::string_view file = FileOf(path);
  const std::string id = BuildIdOf(*object);
  const std::string name(file.substr(0, file.find(".so")));
  static_cast<std::set<std::string>*>(found)->insert(name + " " +
                                                     (id.empty() ? std::string(file) : id));
  return 0;
}

#endif  // CAIRN_HAS_LINK_MAP

}  // namespace

bool IsComputingLibrary(std::string_view path) {
  const std::string_view file = FileOf(path);
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return file.starts_with(prefix); });
}

std::string ComputingLibraries() {
  std::set<std::string> found;
#ifdef CAIRN_HAS_LINK_MAP
  dl_iterate_phdr(NoteObject, &found);
#endif
  return JoinNames(found);
}

std::string ComputingSettings() {
  std::set<std::string> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool chooses =
        std::any_of(kVariables.begin(), kVariables.end(),
                    [&](std::string_view begin) { return text.starts_with(begin); });
    if (chooses) found.insert(std::string(text));
  }
  return JoinNames(found);
}

}  // namespace cairn
