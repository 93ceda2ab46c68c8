// RocksdbSyncPoints: callbacks at the named places of RocksDB's own code that its tests use.
//
// Purpose: tests stop RocksDB's threads between two steps, so that a race always has the order that is tested. Debian's
// librocksdb 7.8.3 contains the sync points and its assertions. available() is false for a library without them.
// Thread safety: on() before enable(); callbacks run in RocksDB's threads. Ownership: the destructor removes all
// callbacks; none may run by then.
#pragma once

#include <functional>
#include <string>

namespace rocksdb {

// Declared here, because Debian does not install RocksDB's header test_util/sync_point.h.
class SyncPoint {
 public:
  __attribute__((weak)) static SyncPoint* GetInstance();
  __attribute__((weak)) void SetCallBack(const std::string& point, const std::function<void(void*)>& callback);
  __attribute__((weak)) void ClearAllCallBacks();
  __attribute__((weak)) void EnableProcessing();
  __attribute__((weak)) void DisableProcessing();
};

namespace port {
class Mutex {
 public:
  __attribute__((weak)) void Lock();
  __attribute__((weak)) void Unlock();
};
}  // namespace port

}  // namespace rocksdb

namespace fathom::store::testing {

class RocksdbSyncPoints {
 public:
  ~RocksdbSyncPoints() {
    if (!available()) return;
    rocksdb::SyncPoint::GetInstance()->DisableProcessing();
    rocksdb::SyncPoint::GetInstance()->ClearAllCallBacks();
  }
  static bool available() { return &rocksdb::SyncPoint::GetInstance != nullptr && has_mutex(); }
  void on(const std::string& point, const std::function<void(void*)>& callback) {
    rocksdb::SyncPoint::GetInstance()->SetCallBack(point, callback);
  }
  void enable() { rocksdb::SyncPoint::GetInstance()->EnableProcessing(); }

 private:
  static bool has_mutex() {
    void (rocksdb::port::Mutex::*unlock)() = &rocksdb::port::Mutex::Unlock;
    return unlock != nullptr;
  }
};

// Runs `during` while RocksDB's mutex is free. `mutex` is the argument of a callback that runs with the mutex held.
inline void with_mutex_released(void* mutex, const std::function<void()>& during) {
  auto* held = static_cast<rocksdb::port::Mutex*>(mutex);
  held->Unlock();
  during();
  held->Lock();
}

}  // namespace fathom::store::testing
