#include "collector/grpc_parts.h"

namespace fathom::collector {

Result<> GrpcMessage::read(grpc::ByteBuffer& buffer) {
  if (!buffer.Dump(&slices_).ok()) return internal("gRPC handed out a message that cannot be read");
  size_t size = buffer.Length();
  buffer.Clear();
  if (slices_.size() == 1) {
    view_ = view_of(slices_[0]);
    return {};
  }
  copy_.reserve(size);
  for (const grpc::Slice& slice : slices_) copy_ += view_of(slice);
  slices_.clear();
  view_ = copy_;
  return {};
}

}  // namespace fathom::collector
