// The rules of call_machine.h once more, as plainly as they can be said: one pass, the whole stack known, a tree of
// pointers. What the fast and parallel one must agree with.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "snapshot/decode/call_tree.h"
#include "snapshot/decode/testing/call_text.h"
#include "snapshot/decode/testing/scripted_extents.h"

namespace fathom::snapshot {

class NaiveCalls {
 public:
  explicit NaiveCalls(const ScriptedExtents& extents) : extents_(extents) { push_floor("thread"); }

  void take(const FlowItem& item) {
    last_ = item.tsc;
    const bool reached = item.ip != 0 && item.ip != from_;
    switch (item.kind) {
      case FlowKind::kBlock:
        arrive(item.ip, item.tsc);
        now_->stats.instructions += item.count;
        from_ = item.to;
        end_ = item.end == BlockEnd::kCall        ? 'c'
               : item.end == BlockEnd::kReturn    ? 'r'
               : item.end == BlockEnd::kFarCall   ? 's'
               : item.end == BlockEnd::kFarReturn ? 'i'
                                                  : '.';
        break;
      case FlowKind::kInterrupt:
        if (reached) visit(item);
        if (end_ == 'g') break;
        end_ = item.to != 0 ? '.' : 'h';
        from_ = item.to != 0 ? item.to : item.ip;
        if (item.to != 0) push(item.to, item.ip, 'i', item.tsc);
        break;
      case FlowKind::kPause:
        if (reached && end_ != 's' && end_ != 'i' && end_ != 'h') visit(item);
        pass(item.tsc);
        if (!paused_) ++now_->stats.pauses;
        paused_ = true;
        paused_at_ = item.ip != 0 ? item.ip : from_;
        break;
      case FlowKind::kResume:
        if (item.ip != 0) resume(item.ip, item.tsc);
        pass(item.tsc);
        paused_ = false;
        if (item.ip != 0) end_ = '.', from_ = item.ip;
        break;
      case FlowKind::kGap: {
        const bool window = item.reason == GapReason::kBetweenWindows;
        if (window) stack_.clear(), push_floor("thread");
        if (end_ != 'g') gap_ = "[" + std::string(gap_reason_name(item.reason)) + "]";
        if (window) gap_ = "thread";
        Node* gap = child(&root_, "[" + std::string(gap_reason_name(item.reason)) + "]");
        run(gap, "", item.tsc);
        ++gap->stats.calls;
        end_ = 'g';
        program_ = false;
        break;
      }
      case FlowKind::kProgram:
        program_ = true;
        break;
      default:
        break;
    }
  }

  void out(uint64_t tsc) {
    pass(tsc);
    out_ = true;
  }
  void in(uint64_t tsc) {
    pass(tsc);
    if (out_) ++now_->stats.pauses;
    out_ = false;
  }

  std::string finish() {
    pass(last_);
    for (auto& floor : floors_) merge(floor.gap == "thread" ? &root_ : child(&root_, floor.gap), &floor.node);
    std::string text;
    write(text, &root_, "thread", "");
    return text;
  }

 private:
  struct Node {
    Node* parent = nullptr;
    CallStats stats;
    std::map<std::string, std::unique_ptr<Node>> children;
  };
  struct Floor {
    Node node;
    std::string gap;
  };
  struct Open {
    char kind = 'c';  // floor, uncalled, call, kernel (s), interrupt
    std::string place, function;
    Node* node = nullptr;
    Floor* floor = nullptr;
    uint64_t returns_to = 0, entered = 0, came_back_to = 0;
    bool stub = false, local = false, entry_known = false;
    std::list<std::string> recent;
  };

  struct Where {
    std::string place, entered;
    bool symbol, stub, start;
  };
  Where where(uint64_t ip) const {
    CodeExtent extent = extents_.find(0, 0, ip);
    std::string place = hex_text(extent.begin) + (extent.symbol ? "" : "?");
    return {place, extent.symbol ? place : hex_text(ip) + "+", extent.symbol, extent.stub,
            extent.symbol && ip == extent.begin};
  }
  static Node* child(Node* parent, const std::string& name) {
    auto& node = parent->children[name];
    if (node == nullptr) {
      node = std::make_unique<Node>();
      node->parent = parent;
    }
    return node.get();
  }
  static void merge(Node* to, const Node* from) {
    to->stats.add(from->stats);
    for (const auto& [name, node] : from->children) merge(child(to, name), node.get());
  }
  void write(std::string& out, const Node* node, const std::string& name, const std::string& indent) const {
    out += indent + name + ": " + stats_text(node->stats) + "\n";
    for (const auto& [below, next] : node->children) write(out, next.get(), below, indent + " ");
  }

  void pass(uint64_t tsc) {
    if (tsc <= since_) return;
    if (since_ != 0 && now_ != &root_) (paused_ || out_ ? now_->stats.pause_ticks : now_->stats.ticks) += tsc - since_;
    since_ = tsc;
  }
  void run(Node* node, const std::string& place, uint64_t tsc) {
    pass(tsc);
    paused_ = false;
    now_ = node;
    place_ = place;
  }
  void push_floor(const std::string& gap) {
    floors_.push_back({});
    floors_.back().gap = gap;
    Open open;
    open.kind = 'f';
    open.floor = &floors_.back();
    open.node = &floors_.back().node;
    stack_.push_back(open);
  }
  void push(uint64_t ip, uint64_t returns_to, char kind, uint64_t tsc) {
    Where to = where(ip);
    Open open;
    open.kind = kind;
    open.place = to.place;
    open.function = to.entered;
    open.stub = to.stub;
    open.returns_to = returns_to;
    open.entered = tsc;
    open.entry_known = true;
    open.node = to.stub ? now_ : child(now_, to.entered);
    if (!to.stub) ++open.node->stats.calls;
    stack_.push_back(open);
    run(open.node, to.place, tsc);
  }
  void settle(uint64_t ip, uint64_t tsc) {
    Where at = where(ip);
    Open& top = stack_.back();
    run(top.place == at.place ? top.node : child(top.node, at.place), at.place, tsc);
  }
  void visit(const FlowItem& item) {
    arrive(item.ip, item.tsc);
    end_ = '.';
    from_ = item.ip;
  }
  void complete(const Open& open, uint64_t tsc) const {
    if (open.entry_known && !open.stub) open.node->stats.completed(tsc - open.entered);
  }
  void end_frame(size_t frame, uint64_t tsc) {
    complete(stack_[frame], tsc);
    stack_.resize(frame);
  }
  static bool waits(const Open& open, uint64_t ip) {
    return open.kind != 'f' && open.kind != 'u' && ip >= open.returns_to && ip < open.returns_to + 15;
  }
  template <typename Wanted>
  int find(int from, Wanted wanted) const {
    int floors = 0;
    for (; from >= 0; --from) {
      if (stack_[static_cast<size_t>(from)].kind == 'f' && ++floors > 8) return -1;
      if (wanted(stack_[static_cast<size_t>(from)])) return from;
    }
    return -1;
  }
  int top() const { return static_cast<int>(stack_.size()) - 1; }

  void arrive(uint64_t ip, uint64_t tsc) {
    switch (end_) {
      case 'c':
        return call(ip, tsc);
      case 'r':
        return back(ip, tsc);
      case 's':
        if (ip >> 63 != 0 && from_ >> 63 == 0) return push(ip, from_ + 1, 's', tsc);
        return resume(ip, tsc);
      case 'i':
        return back_from_kernel(ip, tsc);
      case 'g':
        return leave_gap(ip, tsc);
      case 'h':
        return push(ip, from_, 'i', tsc);
      default:
        return jump(ip, tsc);
    }
  }
  // The first instruction of another program, in user mode.
  bool begins_program(uint64_t ip, uint64_t tsc) {
    if (!program_ || ip >> 63 != 0) return false;
    program_ = false;
    stack_.clear();
    push_floor("thread");
    gap_ = "thread";
    end_ = 'g';
    resume(ip, tsc);
    return true;
  }
  void leave_gap(uint64_t ip, uint64_t tsc) {
    if (begins_program(ip, tsc)) return;
    if (stack_.back().kind != 'f') push_floor(gap_);
    Where at = where(ip);
    Open open;
    open.kind = 'u';
    open.place = open.function = at.place;
    open.stub = at.stub;
    open.node = at.stub ? stack_.back().node : child(stack_.back().node, at.place);
    stack_.push_back(open);
    run(open.node, at.place, tsc);
  }
  void call(uint64_t ip, uint64_t tsc) {
    if (paused_ && ip >= from_ + 1 && ip < from_ + 16) return settle(ip, tsc);
    Where to = where(ip);
    const bool local = to.symbol && to.place == place_ && !to.start;
    push(ip, from_ + 1, 'c', tsc);
    stack_.back().local = local;
  }
  static void use(std::list<std::string>& recent, const std::string& name) {
    recent.remove(name);
    recent.push_front(name);
    if (recent.size() > 4) recent.pop_back();
  }
  void jump(uint64_t ip, uint64_t tsc) {
    Where to = where(ip);
    if (to.place == place_) return settle(ip, tsc);
    if (to.start || where_is_stub()) return tail(ip, tsc);
    Open& from = stack_.back();
    std::list<std::string> recent = from.recent;
    const bool stays = from.place == to.place || std::ranges::find(recent, to.place) != recent.end();
    use(recent, place_);
    use(recent, to.place);
    if (!stays) {
      int frame = find(top() - 1, [&](const Open& open) {
        return open.place == to.place && (to.symbol || open.came_back_to == ip || waits(*(&open + 1), ip));
      });
      if (frame < 0 && !to.symbol) {
        tail(ip, tsc);
        stack_.back().recent = recent;
        return;
      }
      if (frame >= 0) stack_.resize(static_cast<size_t>(frame) + 1);
    }
    stack_.back().recent = recent;
    settle(ip, tsc);
  }
  bool where_is_stub() const { return stub_places_.contains(place_); }
  void tail(uint64_t ip, uint64_t tsc) {
    Open& open = stack_.back();
    Where to = where(ip);
    complete(open, tsc);
    Node* parent = open.stub ? open.node : open.node->parent;
    open.place = to.place;
    open.function = to.entered;
    open.stub = to.stub;
    open.node = to.stub ? parent : child(parent, to.entered);
    open.entered = tsc;
    open.entry_known = true;
    open.local = false;
    open.recent.clear();
    open.came_back_to = 0;
    if (!to.stub) ++open.node->stats.calls;
    run(open.node, to.place, tsc);
  }
  void back(uint64_t ip, uint64_t tsc) {
    Where to = where(ip);
    if (to.start) {
      if (stack_.back().local) stack_.pop_back();
      return tail(ip, tsc);
    }
    if (waits(stack_.back(), ip)) {
      return come_back(top(), ip, tsc);
    }
    if (stack_.back().kind == 'i') {
      Open& open = stack_.back();
      complete(open, tsc);
      Node* parent = open.stub ? open.node : open.node->parent;
      open.place = open.function = to.place;
      open.stub = to.stub;
      open.node = to.stub ? parent : child(parent, to.place);
      open.entry_known = false;
      return settle(ip, tsc);
    }
    if (int frame = find(top(), [&](const Open& open) { return waits(open, ip); }); frame >= 0) {
      return come_back(frame, ip, tsc);
    }
    unmatched(top() - 1, ip, tsc);
  }
  void come_back(int frame, uint64_t ip, uint64_t tsc) {
    end_frame(static_cast<size_t>(frame), tsc);
    stack_.back().came_back_to = ip;
    settle(ip, tsc);
  }
  void end_frame_at(int frame, uint64_t ip, uint64_t tsc) {
    end_frame(static_cast<size_t>(frame), tsc);
    settle(ip, tsc);
  }
  void unmatched(int from, uint64_t ip, uint64_t tsc) {
    Where to = where(ip);
    int frame = find(from, [&](const Open& open) { return open.place == to.place; });
    if (frame >= 0) {
      stack_.resize(static_cast<size_t>(frame) + 1);
      return settle(ip, tsc);
    }
    if (stack_.back().kind == 'u' && end_ == 'r') complete(stack_.back(), tsc);
    while (stack_.back().kind != 'f') stack_.pop_back();
    discover(to);
    settle(ip, tsc);
  }
  // All that was seen above the floor was called by `to`.
  void discover(const Where& to) {
    Floor* floor = stack_.back().floor;
    auto caller = std::make_unique<Node>();
    caller->parent = &floor->node;
    std::swap(caller->children, floor->node.children);
    std::swap(caller->stats, floor->node.stats);
    for (auto& [name, node] : caller->children) node->parent = caller.get();
    if (now_ == &floor->node) now_ = caller.get();
    Open open;
    open.kind = 'u';
    open.place = open.function = to.place;
    open.stub = to.stub;
    open.node = caller.get();
    floor->node.children[to.place] = std::move(caller);
    stack_.push_back(open);
  }
  void back_from_kernel(uint64_t ip, uint64_t tsc) {
    if (begins_program(ip, tsc)) return;
    auto kernel = [](const Open& open) { return open.kind == 's' || open.kind == 'i'; };
    if (int frame = find(top(), [&](const Open& open) { return kernel(open) && waits(open, ip); }); frame >= 0) {
      return end_frame_at(frame, ip, tsc);
    }
    int frame = find(top(), kernel);
    if (frame < 0) return unmatched(top() - 1, ip, tsc);
    const uint64_t returns_to = stack_[static_cast<size_t>(frame)].returns_to;
    end_frame(static_cast<size_t>(frame), tsc);
    run(stack_.back().node, where(ip).place, tsc);
    if (!where(ip).start) return unmatched(top(), ip, tsc);
    push(ip, returns_to, 'i', tsc);
  }
  void resume(uint64_t ip, uint64_t tsc) {
    if (begins_program(ip, tsc)) return;
    if (end_ == 'c' || end_ == 'r' || end_ == 'g' || end_ == 'i') {
      const bool begins = end_ == 'g' && gap_ == "thread" && where(ip).start && !where(ip).stub;
      arrive(ip, tsc);
      if (!begins) return;
      stack_.back().entry_known = true;
      stack_.back().entered = tsc;
      ++stack_.back().node->stats.calls;
      return;
    }
    const uint64_t at = end_ != '.' || !paused_ ? from_ : paused_at_;
    if (ip >= at && ip <= at + 15) return settle(ip, tsc);
    Where to = where(ip);
    if (end_ == '.' && to.place == place_ && !to.start) return settle(ip, tsc);
    int frame = find(top(), [&](const Open& open) { return open.kind == 'i' && waits(open, ip); });
    if (frame >= 0) return end_frame_at(frame, ip, tsc);
    if (to.start) return push(ip, at, 'i', tsc);
    jump(ip, tsc);
  }

 public:
  std::map<std::string, bool> stub_places_;

 private:
  const ScriptedExtents& extents_;
  Node root_;
  std::list<Floor> floors_;
  std::vector<Open> stack_;
  Node* now_ = &root_;
  std::string place_;
  char end_ = 'g';
  std::string gap_ = "thread";
  uint64_t from_ = 0, since_ = 0, paused_at_ = 0, last_ = 0;
  bool paused_ = false, out_ = false, program_ = false;
};

}  // namespace fathom::snapshot
