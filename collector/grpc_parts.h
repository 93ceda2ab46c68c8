// What the collector's gRPC listeners have in common: a message in one piece.
//
// Thread safety: plain values. Ownership: a GrpcMessage holds what its view shows. Errors: kInternal, if gRPC's own
// buffer cannot be read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "base/result.h"

namespace fathom::collector {

// A message in one piece: gRPC's own when it has one slice, otherwise a copy.
class GrpcMessage {
 public:
  // Takes the bytes out of `buffer`, so that they do not outlast their decoding.
  Result<> read(grpc::ByteBuffer& buffer);
  void replace(std::string text) {
    copy_ = std::move(text);
    view_ = copy_;
  }
  std::string_view view() const { return view_; }

 private:
  std::vector<grpc::Slice> slices_;
  std::string copy_;
  std::string_view view_;
};

inline std::string_view view_of(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

}  // namespace fathom::collector
