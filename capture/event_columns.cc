#include "capture/event_columns.h"

namespace fathom::capture {

ThreadTotals EventColumns::write(uint32_t tid, BodySink& sink) {
  ThreadTotals totals{events_, value_count_, texts_.size()};
  char head[2 * kMostVarintBytes];
  const char* end = put_varint(put_varint(head, tid), events_);
  sink.append({head, static_cast<size_t>(end - head)});
  for (Column* column : {&times_, &places_, &spans_, &value_counts_}) {
    sink.append(column->view());
    column->clear();
  }
  for (BodyWriter* column : {&values_, &texts_}) {
    sink.append(column->view());
    column->clear();
  }
  events_ = 0;
  value_count_ = last_nano_ = 0;
  last_spans_ = 0;
  return totals;
}

}  // namespace fathom::capture
