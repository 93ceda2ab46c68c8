// inventory: how many of each item are left. The sync API: a call's span is active on its handler's thread, so that
// spans made there are its children.
#include <fathom/grpc.h>

#include "flags.h"
#include "parts.h"
#include "service.h"
#include "shelves.h"
#include "shop.grpc.pb.h"

namespace shop {

namespace {

::grpc::Status no_such(uint32_t item) {
  return {::grpc::StatusCode::NOT_FOUND, "there is no item " + std::to_string(item)};
}

class InventoryService : public Inventory::Service {
 public:
  explicit InventoryService(Shelves& shelves) : shelves_(shelves) {}

  ::grpc::Status Look(::grpc::ServerContext* context, const ItemRequest* request, Stock* reply) override {
    fathom::grpc::span_of(*context).set("shop.customer", request->customer());
    fathom::Span span("shelves.look");
    span.set("shop.item", request->item());
    std::optional<uint32_t> left = shelves_.look(request->item());
    if (!left) return no_such(request->item());
    span.set("shop.left", *left);
    reply->set_left(*left);
    return ::grpc::Status::OK;
  }

  ::grpc::Status Reserve(::grpc::ServerContext* context, const OrderRequest* request, Stock* reply) override {
    fathom::grpc::span_of(*context).set("shop.customer", request->customer());
    fathom::Span span("shelves.reserve");
    span.set("shop.item", request->item()).set("shop.quantity", request->quantity());
    Shelves::Reservation reservation = shelves_.reserve(request->item(), request->quantity());
    if (reservation.outcome == Shelves::Outcome::kUnknown) return no_such(request->item());
    span.set("shop.left", reservation.left);
    if (reservation.restocked) span.event("restocked").detail("shop.left", reservation.left);
    if (reservation.outcome == Shelves::Outcome::kTooFew) {
      span.error("sold out");
      return {::grpc::StatusCode::FAILED_PRECONDITION, "sold out"};
    }
    reply->set_left(reservation.left);
    return ::grpc::Status::OK;
  }

 private:
  Shelves& shelves_;
};

}  // namespace

int run_inventory(const std::vector<std::string>& words) {
  Flags flags(
      words,
      {{"--listen", "127.0.0.1:7103"}, {"--items", "300000"}, {"--snapshot", ""}, {"--snapshot-every-ms", "1000"}});
  hold_signals();
  name_program("inventory");
  Shelves shelves(static_cast<uint32_t>(flags.number("--items")), flags.text("--snapshot"),
                  flags.number("--snapshot-every-ms"));
  InventoryService service(shelves);
  return serve(service, flags.text("--listen"));
}

}  // namespace shop
