// PieceThread: a thread that works through bytes piece by piece while its owner writes more.
//
// Thread safety: `work` runs on the thread alone; everything else belongs to the owner's thread. Ownership: pieces are
// copies, as many as wait. What `work` refers to outlives the PieceThread. Errors: start() says whether there is a
// thread; `work` keeps its own errors.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace fathom::capture {

class PieceThread {
 public:
  using Work = std::function<void(std::string_view piece)>;

  explicit PieceThread(Work work) : work_(std::move(work)) {}
  ~PieceThread() { finish(); }

  // Once. False: the system has no further thread.
  bool start();
  void append(std::string_view bytes);
  // Waits until all that was appended is done. Nothing may be appended afterwards.
  void finish();

 private:
  void hand_over();
  void run();

  const Work work_;
  std::string piece_;  // of the owner, not handed over yet
  std::mutex mutex_;   // protects the members below
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace fathom::capture
