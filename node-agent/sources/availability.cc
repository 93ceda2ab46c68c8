#include "node-agent/sources/availability.h"

#include "net/json_writer.h"

namespace fathom::agent {

std::string availability_json(const std::vector<Availability>& all) {
  std::string out;
  net::JsonWriter writer(out);
  writer.begin_array();
  for (const Availability& one : all) {
    writer.begin_object().member("name", one.name).member("available", one.available);
    writer.member("why_not", one.why_not).member("cure", one.cure).end_object();
  }
  writer.end_array();
  return out + "\n";
}

}  // namespace fathom::agent
