// Between the messages of proto/query.proto and the plain questions and answers of queries.h.
//
// Thread safety: plain functions. Errors: kInvalid with the cure.
#pragma once

#include "base/result.h"
#include "query.pb.h"
#include "query/attribute_values.h"
#include "query/captures.h"
#include "query/lost_batches.h"
#include "query/queries.h"
#include "query/timeline/timeline_query.h"

namespace fathom::query {

// Without a range, or with one whose ends are both 0: the last hour, as over HTTP.
Result<AskedRange> range_of(const v1::TimeRange& range, uint64_t now_unix_nano);
Result<SlowestQuery> query_of(const v1::SlowestRequest& request, uint64_t now_unix_nano);
Result<LatencyQuery> query_of(const v1::LatencyRequest& request, uint64_t now_unix_nano);
Result<TraceId> trace_id_of(const v1::TraceRequest& request);
Result<TracePage> page_of(const v1::TraceRequest& request);
Result<CapturesQuery> query_of(const v1::ListCapturesRequest& request, uint64_t now_unix_nano);
Result<store::CaptureId> capture_id_of(const v1::GetCaptureRequest& request);
Result<TimelineQuery> query_of(const v1::TimelineRequest& request);
std::optional<std::string> text_of(const std::string& text);  // empty: not given

void fill(v1::SlowestResponse& out, const SlowestAnswer& answer);
void fill(v1::ServicesResponse& out, const ServicesAnswer& answer);
void fill(v1::OperationsResponse& out, const OperationsAnswer& answer);
void fill(v1::AttributeKeysResponse& out, const std::vector<std::string>& keys);
void fill(v1::AttributeValuesResponse& out, const ValuesAnswer& answer);
void fill(v1::LatencyResponse& out, const LatencyAnswer& answer);
void fill(v1::LostBatches& out, const LostBatches& lost);

}  // namespace fathom::query
