#include "store/disk/disk_queue.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"

namespace cairn {
namespace {

// Limit for waits on a condition variable, whose time arithmetic overflows with longer ones.
constexpr double kSecondsMax = 1e6;

std::chrono::duration<double> AtMost(double seconds) {
  return std::chrono::duration<double>(std::clamp(seconds, 0.0, kSecondsMax));
}

}  // namespace

bool DiskQueue::PushWrite(DiskTask task) {
  CHECK(task.is_write());
  const MutexLock guard(mutex_);
  if (writes_.contains(task.name)) return true;
  const uint64_t bytes = task.bytes->size();
  if (!Fits(bytes)) return false;
  bytes_ += bytes;
  writes_.insert(task.name);
  tasks_.push_back(std::move(task));
  events_ = true;
  pushed_.NotifyOne();
  return true;
}

bool DiskQueue::HasRoom(uint64_t bytes) const {
  const MutexLock guard(mutex_);
  return Fits(bytes);
}

void DiskQueue::PushRemove(const ObjectName& name) {
  DiskTask task;
  task.name = name;
  PushWithoutBytes(std::move(task));
}

void DiskQueue::PushLost(const ObjectName& name) {
  DiskTask task;
  task.name = name;
  task.lost = true;
  PushWithoutBytes(std::move(task));
}

void DiskQueue::PushScan() {
  DiskTask task;
  task.scan = true;
  PushWithoutBytes(std::move(task));
}

void DiskQueue::PushWithoutBytes(DiskTask task) {
  const MutexLock guard(mutex_);
  // A later write of the same object must not be merged with one before this removal.
  writes_.erase(task.name);
  tasks_.push_back(std::move(task));
  events_ = true;
  pushed_.NotifyOne();
}

void DiskQueue::Wake() {
  const MutexLock guard(mutex_);
  events_ = true;
  pushed_.NotifyOne();
}

void DiskQueue::PushTouch(const ObjectName& name) {
  const MutexLock guard(mutex_);
  // A queued write gives the file the newest time anyway.
  if (writes_.contains(name)) return;
  ++touches_[name];
  events_ = true;
  pushed_.NotifyOne();
}

bool DiskQueue::Adopt(const ObjectName& name, double ms_max) {
  const MutexLock lock(mutex_);
  to_adopt_.push_back(name);
  adopting_.insert(name);
  events_ = true;
  pushed_.NotifyOne();
  done_.WaitFor(mutex_, AtMost(ms_max / 1000),
                [&]() REQUIRES(mutex_) { return !adopting_.contains(name) || stopped_; });
  return !adopting_.contains(name);
}

std::vector<ObjectName> DiskQueue::TakeAdoptions() {
  const MutexLock guard(mutex_);
  return std::exchange(to_adopt_, {});
}

void DiskQueue::AdoptionsDone(const std::vector<ObjectName>& names) {
  const MutexLock guard(mutex_);
  for (const ObjectName& name : names) {
    const auto found = adopting_.find(name);
    CHECK(found != adopting_.end());
    adopting_.erase(found);
  }
  done_.NotifyAll();
}

bool DiskQueue::WaitUntilDone(double ms_max) {
  const MutexLock lock(mutex_);
  done_.WaitFor(mutex_, AtMost(ms_max / 1000),
                [this]() REQUIRES(mutex_) { return AllDone() || stopped_; });
  return AllDone();
}

DiskQueue::Touches DiskQueue::TakeTouches() {
  const MutexLock guard(mutex_);
  touching_ = !touches_.empty();
  return std::exchange(touches_, {});
}

void DiskQueue::TouchesDone() {
  const MutexLock guard(mutex_);
  touching_ = false;
  if (AllDone()) done_.NotifyAll();
}

std::optional<DiskTask> DiskQueue::Take() {
  const MutexLock guard(mutex_);
  CHECK(!taken_);
  if (tasks_.empty()) return std::nullopt;
  taken_ = true;
  DiskTask task = std::move(tasks_.front());
  tasks_.pop_front();
  return task;
}

void DiskQueue::Ends(const DiskTask& task) {
  const MutexLock guard(mutex_);
  CHECK(taken_);
  if (task.is_write()) writes_.erase(task.name);
}

void DiskQueue::Done(const DiskTask& task) {
  const MutexLock guard(mutex_);
  CHECK(taken_);
  taken_ = false;
  if (task.is_write()) bytes_ -= task.bytes->size();
  if (AllDone()) done_.NotifyAll();
}

void DiskQueue::WaitForWork(double seconds) {
  const MutexLock lock(mutex_);
  pushed_.WaitFor(mutex_, AtMost(seconds),
                  [this]() REQUIRES(mutex_) { return events_ || stopped_; });
  events_ = false;
}

uint64_t DiskQueue::bytes() const {
  const MutexLock guard(mutex_);
  return bytes_;
}

void DiskQueue::Stop() {
  const MutexLock guard(mutex_);
  stopped_ = true;
  pushed_.NotifyAll();
  done_.NotifyAll();
}

}  // namespace cairn
