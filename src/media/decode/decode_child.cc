#include "media/decode/decode_child.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "media/decode/audio_file.h"
#include "media/decode/image_file.h"
#include "media/decode_messages.h"

namespace cairn {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||
                            __has_feature(memory_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;  // no filter
#endif

// Returns 0 if it cannot be told.
uint64_t AddressSpaceInUse() {
  std::ifstream in("/proc/self/statm");
  uint64_t pages = 0;
  in >> pages;
  return in ? pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

bool Limit(__rlimit_resource resource, uint64_t value) {
  rlimit limit = {};
  // A lower limit stays: only root could raise it.
  if (prlimit(0, resource, nullptr, &limit) == 0 && limit.rlim_max <= value) return true;
  limit.rlim_cur = value;
  limit.rlim_max = value;
  // Not setrlimit(): packaging/cairn.service has that system call refused.
  return prlimit(0, resource, &limit, nullptr) == 0;
}

bool SetLimits(const Confinement& confinement) {
  constexpr uint64_t kStandardDescriptors = 3;
  if (!kSanitized) {
    const uint64_t in_use = AddressSpaceInUse();
    if (in_use == 0 || !Limit(RLIMIT_AS, in_use + confinement.memory_bytes)) return false;
  }
  return Limit(RLIMIT_CPU, confinement.cpu_seconds) && Limit(RLIMIT_CORE, 0) &&
         Limit(RLIMIT_FSIZE, 0) && Limit(RLIMIT_NOFILE, kStandardDescriptors) &&
         Limit(RLIMIT_NPROC, 0);
}

// Memory, the descriptors that are open, the end, and what the C library does around them. None of
// them reaches another process.
constexpr long kAllowedCalls[] = {
    SYS_read,   SYS_write,         SYS_readv,        SYS_writev,          SYS_brk,
    SYS_mmap,   SYS_munmap,        SYS_mremap,       SYS_madvise,         SYS_futex,
    SYS_exit,   SYS_exit_group,    SYS_rt_sigreturn, SYS_rt_sigprocmask,  SYS_getpid,
    SYS_gettid, SYS_clock_gettime, SYS_getrandom,    SYS_restart_syscall,
};

sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

sock_filter Return(uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

// Returns a program that ends the process at any call that is not allowed, at any that makes memory
// executable, and at a signal to another process. abort() sends one to its own, `own_process`.
std::vector<sock_filter> CallFilter(pid_t own_process) {
  constexpr uint32_t kExecutable = 4;  // PROT_EXEC
  std::vector<sock_filter> filter = {
      Load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      Return(SECCOMP_RET_KILL_PROCESS),
      Load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(SYS_mmap), 0, 4),
      Load(offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kExecutable, 0, 1),
      Return(SECCOMP_RET_KILL_PROCESS),
      Return(SECCOMP_RET_ALLOW),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(SYS_tgkill), 0, 4),
      // The kernel takes the lower half of the argument, which comes first on both processors.
      Load(offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(own_process), 1, 0),
      Return(SECCOMP_RET_KILL_PROCESS),
      Return(SECCOMP_RET_ALLOW),
  };
  for (const long call : kAllowedCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    filter.push_back(Return(SECCOMP_RET_ALLOW));
  }
  filter.push_back(Return(SECCOMP_RET_KILL_PROCESS));
  return filter;
}

void FilterCalls() {
  std::vector<sock_filter> filter = CallFilter(getpid());
  const sock_fprog program = {static_cast<uint16_t>(filter.size()), filter.data()};
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

constexpr uint64_t kMemoryAtLeast = uint64_t{64} << 20U;
// stb_image holds a PNG image of 16-bit channels and transparency up to three times at once, with 8
// bytes a pixel. Progressive JPEG images take 15, the others less.
constexpr uint64_t kMemoryPerPixel = 24;
// While the samples grow by doubling they are held twice, of which one is twice as large.
constexpr uint64_t kMemoryPerSample = 3 * sizeof(float);

bool ReadAll(std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

bool WriteAll(ByteSpan bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return true;
}

template <typename T>
ByteSpan BytesOfStruct(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(value)};
}

bool WriteReply(const Result<DecodedMedium>& medium) {
  DecodeReply reply;
  ByteSpan payload;
  if (!medium) {
    payload = BytesOf(medium.error().message);
    payload = payload.first(std::min(payload.size(), kDecodeErrorBytesMax));
  } else if (medium->kind == MediumKind::kImage) {
    reply.width = medium->width;
    reply.height = medium->height;
    payload = medium->rgb;
  } else {
    payload = {reinterpret_cast<const uint8_t*>(medium->samples.data()),
               medium->samples.size() * sizeof(float)};
  }
  reply.outcome = medium ? DecodeOutcome::kDecoded : DecodeOutcome::kInvalid;
  reply.payload_bytes = payload.size();
  return WriteAll(BytesOfStruct(reply)) && WriteAll(payload);
}

bool Confine(const DecodeRequest& request, uint64_t decoded_bytes) {
  return ConfineProcess({.memory_bytes = kMemoryAtLeast + request.file_bytes + decoded_bytes,
                         .cpu_seconds = request.cpu_seconds_max});
}

// Confined by the size of this image, or, for a recording, by the limits. Nothing if that fails.
std::optional<Result<DecodedMedium>> Decode(const DecodeRequest& request, ByteSpan file) {
  if (request.kind == MediumKind::kAudio) {
    const uint64_t samples_max = SamplesMax(request.limits, request.sample_rate);
    if (!Confine(request, samples_max * kMemoryPerSample)) return std::nullopt;
    return DecodeAudioFile(file, request.limits, request.sample_rate);
  }
  const Result<ImageSize> size = CheckImageSize(file, request.limits);
  if (!size) return tl::unexpected(size.error());
  const uint64_t pixels = uint64_t{size->width} * size->height;
  if (!Confine(request, pixels * kMemoryPerPixel)) return std::nullopt;
  return DecodeImageFile(file, *size);
}

bool Answer() {
  DecodeRequest request;
  if (!ReadAll({reinterpret_cast<uint8_t*>(&request), sizeof(request)})) return false;
  if (request.magic != kDecodeRequestMagic || request.file_bytes > request.limits.file_bytes_max) {
    return false;
  }
  Bytes file;
  if (!TryResize(&file, request.file_bytes) || !ReadAll(file)) return false;
  const auto medium = Decode(request, file);
  return medium && WriteReply(*medium);
}

}  // namespace

bool ConfineProcess(const Confinement& confinement) {
  prctl(PR_SET_DUMPABLE, 0);
  if (!SetLimits(confinement) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (!kSanitized && kArchitecture != 0) FilterCalls();
  return true;
}

void RunDecodeChild() {
  // A server that is killed leaves no child behind.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  _exit(Answer() ? 0 : 1);
}

}  // namespace cairn
