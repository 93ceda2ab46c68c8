#include "query/snapshots/upload_routes.h"

#include <boost/json.hpp>
#include <memory>
#include <utility>

#include "net/json_writer.h"
#include "query/counters.h"
#include "query/http_face.h"
#include "query/json_body.h"
#include "query/params.h"
#include "query/snapshots/snapshot_routes.h"

namespace fathom::query {

namespace {

namespace json = boost::json;
using net::HttpRequest;
using net::HttpRespond;
using net::HttpResponse;

constexpr std::string_view kMissing = "/api/v1/images/missing";
constexpr uint64_t kBodiesBytes = 64 << 20;  // pieces that came and are not written yet, all together

HttpResponse reply_response(const UploadReply& reply) {
  if (reply.conflict) {
    HttpResponse response = net::error_response(409, "offset " + std::to_string(reply.offset) + " is due");
    // One document for those who look for an error, and for those who look for the offset.
    response.body.resize(response.body.find_last_of('}'));
    response.body += ",\"offset\":" + std::to_string(reply.offset) + "}\n";
    return response;
  }
  HttpResponse response;
  net::JsonWriter writer(response.body);
  writer.begin_object().member("offset", reply.offset).member("stored", reply.stored).end_object();
  response.body += "\n";
  return response;
}

std::string missing_json(const std::vector<Sha256>& missing) {
  std::string out;
  net::JsonWriter writer(out);
  writer.begin_object().key("missing").begin_array();
  for (const Sha256& content : missing) writer.string(content.hex());
  writer.end_array().end_object();
  return out += "\n";
}

void refuse_upload(const Error& fault, const HttpRespond& respond) {
  count_refused(error_code_name(fault.code));
  respond(fault_response(fault));
}

Error not_a_list() {
  return invalid("the body must be a JSON object whose 'sha256' is a list of at most " +
                 std::to_string(kMostAskedImages) + " strings of 64 hexadecimal digits");
}

}  // namespace

Result<UploadPiece> upload_piece(const HttpRequest& request) {
  auto name = content_of_path(request.path);
  if (!name) return not_found("nothing is put at " + request.path + "; GET / lists what there is");
  if (!*name) return name->error();
  Params params(request, 0);
  UploadPiece piece{.name = **name};
  piece.offset = params.number("offset", 0, UINT64_MAX, 0);
  piece.total = params.number("total", 1, UINT64_MAX, 0);
  if (auto read = params.finish(); !read) return read.error();
  if (piece.total == 0) return invalid("'total' says how many bytes there are in all; it must be given");
  if (piece.offset >= piece.total) return invalid("'offset' must be less than 'total'");
  return piece;
}

Result<std::vector<Sha256>> parse_asked_images(std::string_view body) {
  json::error_code fault;
  json::value value = json::parse({body.data(), body.size()}, fault);
  const json::value* list = fault || !value.is_object() ? nullptr : value.get_object().if_contains("sha256");
  const json::array* names = list == nullptr ? nullptr : list->if_array();
  if (names == nullptr || names->size() > kMostAskedImages) return not_a_list();
  std::vector<Sha256> contents;
  for (const json::value& name : *names) {
    const json::string* text = name.if_string();
    auto content = text == nullptr ? std::nullopt : Sha256::from_hex_text({text->data(), text->size()});
    if (!content) return not_a_list();
    contents.push_back(*content);
  }
  return contents;
}

UploadRoutes::UploadRoutes(SnapshotStore* store, QueryRunner* transfers)
    : store_(store),
      transfers_(transfers),
      bodies_(kBodiesBytes, &gauge("fathom_snapshot_body_bytes", "Pieces of uploads that are not written yet.")) {}

bool UploadRoutes::takes(const HttpRequest& request) {
  return request.method == "PUT" || (request.method == "POST" && request.path == kMissing);
}

uint64_t UploadRoutes::body_limit(const HttpRequest& request) {
  return request.method == "PUT" ? kMostPieceBytes : kMostMissingBodyBytes;
}

std::optional<HttpResponse> UploadRoutes::admit(HttpRequest& request) {
  if (store_ == nullptr) return fault_response({ErrorCode::kUnsupported, "this server keeps no snapshots"});
  if (request.method == "POST") {
    if (auto other = refuse_other_than_json(request)) return other;
  } else if (auto piece = upload_piece(request); !piece) {
    count_refused(error_code_name(piece.error().code));
    return fault_response(piece.error());
  }
  request.reservation = bodies_.open();
  return std::nullopt;
}

void UploadRoutes::handle(HttpRequest request, HttpRespond respond) {
  request.method == "PUT" ? put(std::move(request), std::move(respond))
                          : missing(std::move(request), std::move(respond));
}

void UploadRoutes::put(HttpRequest request, HttpRespond respond) {
  auto piece = upload_piece(request);
  if (!piece) return refuse_upload(piece.error(), respond);
  auto whole = std::make_shared<HttpRequest>(std::move(request));  // with the memory that was taken for it
  auto reply = std::make_shared<UploadReply>();
  transfers_->run({.name = piece->name.is_image ? "image_upload" : "snapshot_upload",
                   .budget = transfers_->make_budget(0),
                   .work = [this, piece = *piece, whole, reply](store::QueryBudget&) -> Result<> {
                     auto taken = store_->take(piece, whole->body);
                     if (!taken) return taken.error();
                     *reply = *taken;
                     return {};
                   },
                   .done =
                       [reply, respond = std::move(respond)](const Result<>& result) {
                         respond(result ? reply_response(*reply) : fault_response(result.error()));
                       }});
}

void UploadRoutes::missing(HttpRequest request, HttpRespond respond) {
  auto body = std::make_shared<std::string>();
  auto whole = std::make_shared<HttpRequest>(std::move(request));
  transfers_->run({.name = "images_missing",
                   .budget = transfers_->make_budget(0),
                   .work = [this, whole, body](store::QueryBudget&) -> Result<> {
                     auto contents = parse_asked_images(whole->body);
                     if (!contents) return contents.error();
                     *body = missing_json(store_->missing_images(*contents));
                     return {};
                   },
                   .done =
                       [body, respond = std::move(respond)](const Result<>& result) {
                         respond(result ? HttpResponse{.body = std::move(*body)} : fault_response(result.error()));
                       }});
}

}  // namespace fathom::query
