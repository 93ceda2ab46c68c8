#include "node-agent/uplink/grpc_snapshot_link.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "ingest.grpc.pb.h"
#include "node-agent/uplink/grpc_channel.h"

namespace fathom::agent {

namespace {

namespace wire = fathom::ingest::v1;
using State = PieceReply::State;

constexpr auto kPatience = std::chrono::seconds(60);

// What this agent does not know may be known to it later.
State state_of(wire::SnapshotPieceReply::State state) {
  switch (state) {
    case wire::SnapshotPieceReply::DUE:
      return State::kDue;
    case wire::SnapshotPieceReply::STORED:
      return State::kStored;
    case wire::SnapshotPieceReply::REFUSED:
      return State::kRefused;
    default:
      return State::kRetry;
  }
}

std::string words_of(const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) return "this collector is older, and takes no snapshots";
  return status.error_message().empty() ? "the collector is away" : status.error_message();
}

class GrpcSnapshotLink final : public SnapshotLink {
 public:
  explicit GrpcSnapshotLink(CollectorAccess collector)
      : collector_(std::move(collector)), stub_(wire::Ingest::NewStub(make_channel(collector_))) {}

  PieceReply put(const ContentName& name, uint64_t offset, uint64_t total_bytes, std::string_view bytes) override {
    wire::SnapshotPiece piece;
    if (!name.snapshot.is_zero()) piece.set_snapshot_id(std::string(name.snapshot.view()));
    if (!name.image.is_zero()) piece.set_image_sha256(std::string(name.image.view()));
    piece.set_offset(offset);
    piece.set_total_bytes(total_bytes);
    piece.set_content(std::string(bytes));
    wire::SnapshotPieceReply reply;
    const grpc::Status status = call(&wire::Ingest::Stub::PutSnapshotPiece, piece, reply);
    if (!status.ok()) return {.state = State::kRetry, .message = words_of(status)};
    return {state_of(reply.state()), reply.next_offset(), reply.retry_after_nano(), reply.message()};
  }

  Result<std::vector<Sha256>> missing_images(std::span<const Sha256> images) override {
    wire::ImageNames names;
    for (const Sha256& image : images) names.add_sha256(std::string(image.view()));
    wire::MissingImagesReply reply;
    const grpc::Status status = call(&wire::Ingest::Stub::MissingImages, names, reply);
    if (!status.ok()) return unavailable(words_of(status));
    if (reply.retry_after_nano() != 0) return unavailable("the collector asks for patience");
    std::vector<Sha256> missing;
    for (const std::string& name : reply.sha256()) {
      if (auto image = Sha256::from_bytes(name)) missing.push_back(*image);
    }
    return missing;
  }

  void cancel() override {
    std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    if (call_ != nullptr) call_->TryCancel();
  }

 private:
  template <typename Request, typename Reply>
  grpc::Status call(grpc::Status (wire::Ingest::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                    const Request& request, Reply& reply) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    show_token(context, collector_);
    if (!begin(context)) return {grpc::StatusCode::CANCELLED, "this agent is ending"};
    grpc::Status status = ((*stub_).*method)(&context, request, &reply);
    std::lock_guard lock(mutex_);
    call_ = nullptr;
    return status;
  }
  bool begin(grpc::ClientContext& context) {
    std::lock_guard lock(mutex_);
    if (is_cancelled_) return false;
    call_ = &context;
    return true;
  }

  const CollectorAccess collector_;
  const std::unique_ptr<wire::Ingest::Stub> stub_;
  std::mutex mutex_;
  grpc::ClientContext* call_ = nullptr;  // under way
  bool is_cancelled_ = false;
};

}  // namespace

std::unique_ptr<SnapshotLink> open_grpc_snapshot_link(const CollectorAccess& collector) {
  return std::make_unique<GrpcSnapshotLink>(collector);
}

}  // namespace fathom::agent
