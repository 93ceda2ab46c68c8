#include "cli/span_details.h"

#include <algorithm>

#include "cli/api.h"
#include "cli/text.h"
#include "cli/value_text.h"

namespace fathom::cli {

namespace {

std::string view_text(boost::json::string_view text) {
  return std::string(text.data(), text.size());
}

class Lines {
 public:
  void add(std::string text) { lines_.push_back({std::move(text)}); }
  void add_text(const boost::json::value& owner, const char* member, const std::string& before) {
    if (!text_of(owner, member).empty()) add(before + short_value_text(member_of(owner, member)));
  }
  void add_event(std::string text, uint64_t at_unix_nano) { lines_.push_back({std::move(text), at_unix_nano}); }

  // `cut` are the keys whose values the server has cut.
  void add_attributes(const boost::json::value& owner, const std::string& before, const boost::json::array& cut = {}) {
    const boost::json::value& attributes = member_of(owner, "attributes");
    if (attributes.is_object()) {
      for (const auto& [key, value] : attributes.get_object()) add_attribute(view_text(key), value, before, cut);
    }
    add_dropped(owner, "dropped_attributes_count", "attribute", before);
  }

  void add_dropped(const boost::json::value& owner, const char* member, const std::string& what,
                   const std::string& before) {
    uint64_t dropped = number_of(owner, member);
    if (dropped > 0) add(before + "(" + group_digits(dropped) + " " + what + (dropped == 1 ? "" : "s") + " dropped)");
  }

  std::vector<DetailLine> take() { return std::move(lines_); }

 private:
  void add_attribute(const std::string& key, const boost::json::value& value, const std::string& before,
                     const boost::json::array& cut) {
    bool is_cut = std::any_of(cut.begin(), cut.end(), [&](const boost::json::value& name) {
      return name.is_string() && view_text(name.get_string()) == key;
    });
    add(before + printable(key) + " = " + short_value_text(value) + (is_cut ? " [cut: longer than the limit]" : ""));
  }

  std::vector<DetailLine> lines_;
};

void add_events(Lines& lines, const boost::json::value& span) {
  for (const boost::json::value& event : array_of(span, "events")) {
    std::string text = "event " + name_text(text_of(event, "name"));
    uint64_t at = number_of(event, "time_unix_nano");
    at == 0 ? lines.add(text) : lines.add_event(text, at);
    lines.add_attributes(event, "  ", array_of(event, "cut_attributes"));
  }
  lines.add_dropped(span, "dropped_events_count", "event", "");
}

void add_links(Lines& lines, const boost::json::value& span) {
  for (const boost::json::value& link : array_of(span, "links")) {
    lines.add("link to trace " + printable(text_of(link, "trace_id")) + " span " + printable(text_of(link, "span_id")));
    lines.add_text(link, "trace_state", "  trace state: ");
    lines.add_attributes(link, "  ", array_of(link, "cut_attributes"));
  }
  lines.add_dropped(span, "dropped_links_count", "link", "");
}

}  // namespace

std::vector<DetailLine> span_details(const boost::json::value& span) {
  Lines lines;
  lines.add("span " + printable(text_of(span, "span_id")));
  if (text_of(span, "status") == "ok") lines.add("status: ok");  // somebody said so; an error is said above
  lines.add_text(span, "status_message", "status message: ");
  lines.add_text(span, "trace_state", "trace state: ");
  lines.add_attributes(span, "", array_of(span, "cut_attributes"));
  add_events(lines, span);
  add_links(lines, span);
  if (!member_of(span, "resource").is_null()) lines.add("resource " + std::to_string(number_of(span, "resource")));
  return lines.take();
}

const boost::json::value& resource_of(const boost::json::value& document, const boost::json::value& span) {
  static const boost::json::value kNone;
  const boost::json::array& resources = array_of(document, "resources");
  const uint64_t index = number_of(span, "resource");
  const bool is_there = !member_of(span, "resource").is_null() && index < resources.size();
  return is_there ? resources[index] : kNone;
}

std::vector<std::string> resource_lines(const boost::json::value& resource) {
  Lines lines;
  lines.add_attributes(resource, "", array_of(resource, "cut_attributes"));
  std::vector<std::string> texts;
  for (DetailLine& line : lines.take()) texts.push_back(std::move(line.text));
  return texts;
}

}  // namespace fathom::cli
