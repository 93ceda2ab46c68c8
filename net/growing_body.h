// GrowingBody: a Beast body in a std::string whose memory follows what has come, not what a Content-Length promises.
//
// Purpose: Beast's own string_body allocates the whole Content-Length when the first byte comes; a peer that promises
// much and sends nothing would cost that much. Capacity here doubles, and ends at the Content-Length exactly.
// Thread safety: as the parser it is part of. Ownership: the message owns the string. Errors: none; the parser's body
// limit bounds the size. Internal to net/.
#pragma once

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <cstdint>
#include <string>

namespace fathom::net {

struct GrowingBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool kIsRequest, typename Fields>
    reader(boost::beast::http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<uint64_t>& length, boost::system::error_code& fault) {
      length_ = length.value_or(UINT64_MAX);
      fault = {};
    }
    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& fault) {
      size_t more = boost::beast::buffer_bytes(buffers);
      make_room(body_.size() + more);
      for (auto part : boost::beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(part.data()), part.size());
      }
      fault = {};
      return more;
    }
    void finish(boost::system::error_code& fault) { fault = {}; }

   private:
    void make_room(uint64_t needed) {
      if (needed <= body_.capacity()) return;
      body_.reserve(std::max(needed, std::min(length_, 2 * needed)));
    }

    value_type& body_;
    uint64_t length_ = UINT64_MAX;
  };
};

}  // namespace fathom::net
