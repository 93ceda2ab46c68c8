// catalog: what is sold. The callback API: a call's span is active until its method returns, and is asked for
// afterwards.
#include <fathom/grpc.h>

#include <memory>

#include "descriptions.h"
#include "flags.h"
#include "parts.h"
#include "service.h"
#include "shop.grpc.pb.h"

namespace shop {

namespace {

constexpr size_t kCached = 500;

// One search: product after product, until there are enough of them.
class Finding : public ::grpc::ServerWriteReactor<Product> {
 public:
  Finding(::grpc::CallbackServerContext* context, const SearchRequest* request)
      : words_(request->words()), left_(request->most()), span_("catalog.find", fathom::grpc::context_of(*context)) {
    span_.set("shop.words", words_).set("shop.most", left_);
    next();
  }
  void OnWriteDone(bool ok) override {
    if (ok) return next();
    finish({::grpc::StatusCode::CANCELLED, "nobody reads"});
  }
  void OnDone() override { delete this; }

 private:
  void next() {
    while (left_ > 0 && at_ < kLooked) {
      uint32_t item = at_++;
      std::string name = item_name(item);
      if (name.find(words_) == std::string::npos) continue;
      --left_;
      ++found_;
      product_.set_item(item);
      product_.set_name(name);
      return StartWrite(&product_);
    }
    finish(::grpc::Status::OK);
  }
  // What ends the call may end this object too, from another thread.
  void finish(const ::grpc::Status& status) {
    span_.set("shop.found", found_).set("shop.looked_at", at_);
    span_.end();
    Finish(status);
  }

  static constexpr uint32_t kLooked = 5000;
  const std::string words_;
  uint32_t left_;
  uint32_t at_ = 0;
  uint32_t found_ = 0;
  Product product_;
  fathom::DetachedSpan span_;
};

class CatalogService : public Catalog::CallbackService {
 public:
  explicit CatalogService(const std::string& inventory) : inventory_(Inventory::NewStub(connect(inventory))) {}

  ::grpc::ServerUnaryReactor* Describe(::grpc::CallbackServerContext* context, const ItemRequest* request,
                                       Product* reply) override {
    ::grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    std::optional<Descriptions::Found> found = descriptions_.find(request->item());
    fathom::DetachedSpan& span = fathom::grpc::span_of(*context);
    span.set("shop.item", request->item()).set("shop.customer", request->customer());
    if (!found) {
      reactor->Finish({::grpc::StatusCode::DATA_LOSS, "the description is damaged"});
      return reactor;
    }
    span.set("cache.hit", found->from_cache);
    reply->set_item(request->item());
    reply->set_name(item_name(request->item()));
    reply->set_description(std::move(found->text));
    ask_inventory(context, *request, reply, reactor);
    return reactor;
  }

  ::grpc::ServerWriteReactor<Product>* Find(::grpc::CallbackServerContext* context,
                                            const SearchRequest* request) override {
    return new Finding(context, request);
  }

 private:
  struct Question {
    ::grpc::ClientContext context;
    Stock stock;
  };

  // Still in the method: the call is a child of ours by itself.
  void ask_inventory(::grpc::CallbackServerContext* context, const ItemRequest& request, Product* reply,
                     ::grpc::ServerUnaryReactor* reactor) {
    auto question = std::make_shared<Question>();
    question->context.set_deadline(context->deadline());
    inventory_->async()->Look(&question->context, &request, &question->stock,
                              [question, reply, reactor](const ::grpc::Status& status) mutable {
                                reply->set_left(question->stock.left());
                                // It holds the channel, which must not outlive the service in this thread.
                                question.reset();
                                reactor->Finish(status);
                              });
  }

  Descriptions descriptions_{kCached};
  std::unique_ptr<Inventory::Stub> inventory_;
};

}  // namespace

int run_catalog(const std::vector<std::string>& words) {
  Flags flags(words, {{"--listen", "127.0.0.1:7102"}, {"--inventory", "127.0.0.1:7103"}});
  hold_signals();
  name_program("catalog");
  CatalogService service(flags.text("--inventory"));
  return serve(service, flags.text("--listen"));
}

}  // namespace shop
