// gateway: what customers see. The sync API; it calls the other two.
#include <fathom/grpc.h>

#include <atomic>

#include "flags.h"
#include "parts.h"
#include "service.h"
#include "shop.grpc.pb.h"

namespace shop {

namespace {

constexpr uint32_t kMostQuantity = 10;
constexpr uint64_t kRefusedCard = 61;  // every so many-th order's

::grpc::Status invalid(const std::string& what) {
  return {::grpc::StatusCode::INVALID_ARGUMENT, what};
}

class GatewayService : public Gateway::Service {
 public:
  GatewayService(const std::string& catalog, const std::string& inventory)
      : catalog_(Catalog::NewStub(connect(catalog))), inventory_(Inventory::NewStub(connect(inventory))) {}

  ::grpc::Status Show(::grpc::ServerContext* context, const ItemRequest* request, Product* reply) override {
    fathom::grpc::span_of(*context).set("shop.customer", request->customer()).set("shop.item", request->item());
    auto further = ::grpc::ClientContext::FromServerContext(*context);
    return catalog_->Describe(further.get(), *request, reply);
  }

  ::grpc::Status Search(::grpc::ServerContext* context, const SearchRequest* request, SearchReply* reply) override {
    fathom::grpc::span_of(*context).set("shop.customer", request->customer()).set("shop.words", request->words());
    if (request->words().empty()) return invalid("search for what?");
    auto further = ::grpc::ClientContext::FromServerContext(*context);
    auto products = catalog_->Find(further.get(), *request);
    while (products->Read(reply->add_products())) {
    }
    reply->mutable_products()->RemoveLast();
    return products->Finish();
  }

  ::grpc::Status Order(::grpc::ServerContext* context, const OrderRequest* request, OrderReply* reply) override {
    fathom::DetachedSpan& span = fathom::grpc::span_of(*context);
    span.set("shop.customer", request->customer()).set("shop.item", request->item());
    span.set("shop.quantity", request->quantity());
    if (request->quantity() == 0 || request->quantity() > kMostQuantity) return invalid("how many?");
    uint64_t number = ++orders_;
    auto further = ::grpc::ClientContext::FromServerContext(*context);
    Stock stock;
    ::grpc::Status reserved = inventory_->Reserve(further.get(), *request, &stock);
    if (!reserved.ok()) return reserved;
    if (!charge(number, request->quantity())) return {::grpc::StatusCode::PERMISSION_DENIED, "the card was refused"};
    span.event("order placed").detail("shop.order", number);
    reply->set_order("o" + std::to_string(number));
    reply->set_left(stock.left());
    return ::grpc::Status::OK;
  }

 private:
  static bool charge(uint64_t order, uint32_t quantity) {
    fathom::Span span("charge card");
    span.set("shop.amount", 9.99 * quantity).set("shop.order", order);
    if (order % kRefusedCard != 0) return true;
    span.error("card refused");
    return false;
  }

  std::unique_ptr<Catalog::Stub> catalog_;
  std::unique_ptr<Inventory::Stub> inventory_;
  std::atomic<uint64_t> orders_{0};
};

}  // namespace

int run_gateway(const std::vector<std::string>& words) {
  Flags flags(words,
              {{"--listen", "127.0.0.1:7101"}, {"--catalog", "127.0.0.1:7102"}, {"--inventory", "127.0.0.1:7103"}});
  hold_signals();
  name_program("gateway");
  GatewayService service(flags.text("--catalog"), flags.text("--inventory"));
  return serve(service, flags.text("--listen"));
}

}  // namespace shop
