#include "media/child/child_media_decoder.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "media/child/decode_exchange.h"
#include "media/decode_messages.h"
#include "media/medium.h"

namespace cairn {
namespace {

// When more owners are known, all are forgotten, and come in the order of their calls.
constexpr size_t kOwnersMax = 1024;

template <typename Map>
typename Map::mapped_type ValueOf(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second;
}

size_t PixelBytes(const DecodedMedium& decoded) {
  return decoded.rgb.size() + decoded.samples.size() * sizeof(float);
}

// The owner of what no key asks for now.
constexpr uint64_t kServer = UINT64_MAX;

std::string The(const Medium& medium) {
  return "the " + std::string(MediumKindName(medium.kind));
}

bool IsGone(const Medium& medium) {
  return medium.gone && medium.gone();
}

tl::unexpected<Error> ClientLeft(const Medium& medium) {
  return Fail(ErrorCode::kCancelled,
              The(medium) + " was not decoded: its client left, or the server is stopping");
}

std::string SecondsText(std::chrono::milliseconds time) {
  const auto ms = time.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace

DecodePlaces::DecodePlaces(size_t places_max) : places_max_(places_max) {
  CHECK(places_max > 0);
}

bool DecodePlaces::AwaitTurn(const Waiter& own, std::chrono::milliseconds wait_max,
                             const std::function<bool()>& gone) {
  const auto is_turn = [&]() REQUIRES(mutex_) { return taken_ < places_max_ && Next() == &own; };
  const auto deadline = std::chrono::steady_clock::now() + wait_max;
  while (true) {
    const std::chrono::steady_clock::duration look = kGoneLookInterval;
    const auto left = deadline - std::chrono::steady_clock::now();
    if (changed_.WaitFor(mutex_, std::min(look, left), is_turn)) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (!gone) continue;
    // It may ask the system, and others have their turns meanwhile.
    const MutexUnlock unlocked(mutex_);
    if (gone()) return false;
  }
}

std::unique_ptr<DecodePlaces::Place> DecodePlaces::Take(uint64_t owner,
                                                        std::chrono::milliseconds wait_max,
                                                        const std::function<bool()>& gone) {
  const MutexLock lock(mutex_);
  const auto own = waiters_.insert(waiters_.end(), Waiter{owner});
  const bool is_free = AwaitTurn(*own, wait_max, gone);
  waiters_.erase(own);
  changed_.NotifyAll();  // it is the turn of another one
  if (!is_free) return nullptr;
  if (served_last_.size() >= kOwnersMax) served_last_.clear();
  // The lines that need memory come before those that count.
  size_t& children = children_[owner];
  uint64_t& served_last = served_last_[owner];
  auto place = std::make_unique<Place>(this, owner);
  ++taken_;
  ++children;
  served_last = ++served_;
  return place;
}

void DecodePlaces::Leave(uint64_t owner) {
  const MutexLock lock(mutex_);
  --taken_;
  const auto children = children_.find(owner);
  if (--children->second == 0) children_.erase(children);
  changed_.NotifyAll();
}

const DecodePlaces::Waiter* DecodePlaces::Next() const {
  const Waiter* next = nullptr;
  std::tuple<size_t, uint64_t> least;
  for (const Waiter& waiter : waiters_) {
    const std::tuple<size_t, uint64_t> rank = {ValueOf(children_, waiter.owner),
                                               ValueOf(served_last_, waiter.owner)};
    if (next != nullptr && rank >= least) continue;
    next = &waiter;
    least = rank;
  }
  return next;
}

size_t DecodePlaces::waiting() const {
  const MutexLock lock(mutex_);
  return waiters_.size();
}

Result<DecodedMedium> KeptMediaDecoder::Decode(const Medium& medium) {
  {
    const MutexLock lock(mutex_);
    if (auto kept = Take(medium.content)) return *std::move(kept);
  }
  return decoder_->Decode(medium);
}

Result<DecodedMedium> KeptMediaDecoder::DecodeFor(uint64_t owner, const Medium& medium) {
  auto decoded = decoder_->DecodeFor(owner, medium);
  if (decoded) Keep(medium, *decoded);
  return decoded;
}

size_t KeptMediaDecoder::kept_bytes() const {
  const MutexLock lock(mutex_);
  return kept_bytes_;
}

std::optional<DecodedMedium> KeptMediaDecoder::Take(const Bits128& content) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.content == content; });
  if (found == kept_.end()) return std::nullopt;
  DecodedMedium decoded = std::move(found->decoded);
  kept_bytes_ -= found->bytes;
  kept_.erase(found);
  return decoded;
}

// A copy spares time and is not needed, so nothing is lost where there is no memory for it.
void KeptMediaDecoder::Keep(const Medium& medium, const DecodedMedium& decoded) {
  const size_t bytes = PixelBytes(decoded);
  if (bytes > bytes_max_) return;
  std::list<Kept> added;
  try {
    added.push_back({medium.content, decoded, bytes});
  } catch (const std::bad_alloc&) {
    return;
  }
  const MutexLock lock(mutex_);
  Take(medium.content);  // an older copy
  kept_.splice(kept_.begin(), added);
  kept_bytes_ += bytes;
  while (kept_bytes_ > bytes_max_) {
    kept_bytes_ -= kept_.back().bytes;
    kept_.pop_back();
  }
}

ChildMediaDecoder::ChildMediaDecoder(ChildMediaDecoderOptions options)
    : options_(std::move(options)),
      places_(options_.children_max),
      ready_(options_.keeps_one_ready ? std::make_unique<ReadyProgram>(options_.argv) : nullptr) {
  CHECK(!options_.argv.empty());
}

Result<DecodedMedium> ChildMediaDecoder::Decode(const Medium& medium) {
  return DecodeFor(kServer, medium);
}

Result<DecodedMedium> ChildMediaDecoder::DecodeFor(uint64_t owner, const Medium& medium) {
  const auto size = CheckFile(medium);
  if (!size) return tl::unexpected(size.error());
  if (IsGone(medium)) return ClientLeft(medium);
  const auto place = places_.Take(owner, options_.wait_time_max, medium.gone);
  // With a place too: many may have left while they stood in line.
  if (IsGone(medium)) return ClientLeft(medium);
  if (place == nullptr) {
    return Fail(ErrorCode::kUnavailable,
                "too many images and recordings are being decoded; try again later");
  }
  return DecodeInChild(medium, *size);
}

Result<std::optional<ImageSize>> ChildMediaDecoder::CheckFile(const Medium& medium) const {
  if (medium.file.size() > options_.limits.file_bytes_max) {
    return Fail(ErrorCode::kInvalidArgument,
                The(medium) + " has " + std::to_string(medium.file.size()) +
                    " bytes; the limit is " + std::to_string(options_.limits.file_bytes_max));
  }
  if (medium.kind == MediumKind::kAudio) {
    if (options_.sample_rate > 0) return std::nullopt;
    return Fail(ErrorCode::kInvalidArgument, "the model takes no audio");
  }
  auto size = CheckImageSize(medium.file, options_.limits);
  if (!size) return tl::unexpected(size.error());
  return *size;
}

Result<std::unique_ptr<SpawnedProgram>> ChildMediaDecoder::StartChild() {
  return ready_ == nullptr ? SpawnedProgram::Start(options_.argv) : ready_->Take();
}

Result<DecodedMedium> ChildMediaDecoder::DecodeInChild(const Medium& medium,
                                                       const std::optional<ImageSize>& size) {
  const auto deadline = std::chrono::steady_clock::now() + options_.decode_time_max;
  auto child = StartChild();
  if (!child) {
    if (options_.log) options_.log(LogLevel::kError, child.error().message);
    return Fail(ErrorCode::kUnavailable, The(medium) + " cannot be decoded now");
  }
  DecodeRequest request;
  request.kind = medium.kind;
  request.sample_rate = options_.sample_rate;
  request.cpu_seconds_max = static_cast<uint32_t>(
      std::chrono::ceil<std::chrono::seconds>(options_.decode_time_max).count());
  request.file_bytes = medium.file.size();
  request.limits = options_.limits;
  DecodeExchange exchange(request, medium.file, size);
  Result<DecodedMedium> decoded = exchange.Run((*child)->socket(), deadline, medium.gone);
  const std::string end = (*child)->End();
  if (decoded) return decoded;
  const Error& error = decoded.error();
  if (error.code == ErrorCode::kCancelled) return ClientLeft(medium);
  if (error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnavailable) {
    return decoded;
  }
  if (options_.log) {
    options_.log(LogLevel::kWarning, The(medium) + " at " + medium.place + " was not decoded: " +
                                         error.message + (end.empty() ? "" : "; " + end));
  }
  const std::string reason =
      error.code == ErrorCode::kTimedOut
          ? " cannot be decoded within " + SecondsText(options_.decode_time_max)
          : " cannot be decoded";
  return Fail(ErrorCode::kInvalidArgument, The(medium) + reason);
}

}  // namespace cairn
