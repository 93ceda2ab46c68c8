#include "cli/trace_text.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "cli/exact_json.h"
#include "cli/value_text.h"

namespace fathom::cli {
namespace {

struct GivenSpan {
  std::string id;
  std::string parent;
  uint64_t start_ms = 0;
  uint64_t duration_ms = 0;
  std::string more;  // further members
};

boost::json::value trace_of(const std::vector<GivenSpan>& spans, bool complete = true) {
  std::string json = R"({"trace_id":"0123456789abcdef0123456789abcdef","complete":)";
  json += std::string(complete ? "true" : "false") + R"(,"spans":[)";
  for (const GivenSpan& span : spans) {
    if (json.back() == '}') json += ',';
    json += R"({"span_id":")" + span.id + R"(","parent_span_id":")" + span.parent +
            R"(","service":"s","operation":"op-)" + span.id + R"(","start_time_unix_nano":")" +
            std::to_string(1'795'226'400'000'000'000 + span.start_ms * 1'000'000) + R"(","duration_nano":)" +
            std::to_string(span.duration_ms * 1'000'000) + span.more + "}";
  }
  return boost::json::parse(json + "]}");
}

std::string text_of_spans(const std::vector<GivenSpan>& spans, TraceTextOptions options = {}, bool complete = true) {
  boost::json::value trace = trace_of(spans, complete);
  std::string text = trace_text(build_trace_tree(trace), options);
  return text.substr(text.find("OPERATION\n") + 10);  // after the header, which has a test of its own
}

TEST(TraceText, AWholeTraceWithItsHeader) {
  boost::json::value trace = trace_of({{"a1", "", 0, 1000},
                                       {"b1", "a1", 100, 400},
                                       {"c1", "b1", 200, 200, R"(,"status":"error","status_message":"no stock")"},
                                       {"b2", "a1", 600, 400}});
  EXPECT_EQ(trace_text(build_trace_tree(trace), {}),
            "trace 0123456789abcdef0123456789abcdef\n"
            "1 s, 4 spans, 1 service, 1 error, started 2026-11-21 02:00:00.000 UTC\n"
            "\n"
            "      OFFSET    DURATION                              SERVICE  OPERATION\n"
            "       +0 ns         1 s  │━━━━━━━━━━━━━━━━━━━━━━━━│  s  op-a1\n"
            "     +100 ms      400 ms  │  ━━━━━━━━━━            │  ├─ s  op-b1\n"
            "     +200 ms      200 ms  │    ━━━━━━              │  │  └─ s  op-c1  [error: no stock]\n"
            "     +600 ms      400 ms  │              ━━━━━━━━━━│  └─ s  op-b2\n");
}

TEST(TraceText, ChildrenBeforeTheirParentsAreSortedByStart) {
  EXPECT_EQ(text_of_spans({{"b2", "a1", 60, 10}, {"b1", "a1", 20, 10}, {"a1", "", 0, 100}}),
            "       +0 ns      100 ms  │━━━━━━━━━━━━━━━━━━━━━━━━│  s  op-a1\n"
            "      +20 ms       10 ms  │    ━━━━                │  ├─ s  op-b1\n"
            "      +60 ms       10 ms  │              ━━━       │  └─ s  op-b2\n");
}

TEST(TraceText, MissingParentsAreShownAsSuch) {
  EXPECT_EQ(text_of_spans({{"b1", "ff", 0, 100}, {"b2", "ff", 50, 50}, {"c1", "b1", 10, 10}}, {}, false),
            "                                                      (parent ff is missing)\n"
            "       +0 ns      100 ms  │━━━━━━━━━━━━━━━━━━━━━━━━│  ├─ s  op-b1\n"
            "      +10 ms       10 ms  │  ━━━                   │  │  └─ s  op-c1\n"
            "      +50 ms       50 ms  │            ━━━━━━━━━━━━│  └─ s  op-b2\n");
  boost::json::value trace = trace_of({{"b1", "ff", 0, 100}}, false);
  EXPECT_NE(trace_text(build_trace_tree(trace), {}).find("UTC, incomplete\n"), std::string::npos);
}

TEST(TraceText, CirclesAndSelfParentsAreShownOnce) {
  EXPECT_EQ(
      text_of_spans({{"a1", "a2", 0, 10}, {"a2", "a1", 5, 5}, {"c1", "c1", 8, 2}}),
      "                                                      (a circle: the spans below are their own ancestors)\n"
      "       +0 ns       10 ms  │━━━━━━━━━━━━━━━━━━━━━━━━│  └─ s  op-a1\n"
      "       +5 ms        5 ms  │            ━━━━━━━━━━━━│     └─ s  op-a2\n"
      "                                                      (a circle: the spans below are their own ancestors)\n"
      "       +8 ms        2 ms  │                   ━━━━━│  └─ s  op-c1\n");
}

TEST(TraceText, RepeatedIdsAreBothShown) {
  std::string text = text_of_spans(
      {{"a1", "", 0, 10, R"(,"conflicting":true)"}, {"a1", "", 1, 10, R"(,"conflicting":true)"}, {"b1", "a1", 2, 1}});
  EXPECT_EQ(text,
            "       +0 ns       10 ms  │━━━━━━━━━━━━━━━━━━━━━━  │  s  op-a1  [another span has this id too]\n"
            "       +2 ms        1 ms  │    ━━━                 │  └─ s  op-b1\n"
            "       +1 ms       10 ms  │  ━━━━━━━━━━━━━━━━━━━━━━│  s  op-a1  [another span has this id too]\n");
}

TEST(TraceText, AttributesAndEventsWhenAskedFor) {
  TraceTextOptions options;
  options.attributes = true;
  std::string text = text_of_spans({{"a1", "", 0, 1,
                                     R"(,"attributes":{"http.route":"/x","code":500,"evil":"\u001b[2J"},)"
                                     R"("events":[{"name":"retry"}])"}},
                                   options);
  EXPECT_NE(text.find("    http.route = /x\n"), std::string::npos);
  EXPECT_NE(text.find("    code = 500\n"), std::string::npos);
  EXPECT_NE(text.find("    evil = \\x1b[2J\n"), std::string::npos);
  EXPECT_NE(text.find("    event retry\n"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(TraceText, AllThatASpanSays) {
  TraceTextOptions options;
  options.attributes = true;
  boost::json::value trace = boost::json::parse(
      R"({"spans":[{"span_id":"a1","service":"s","operation":"__other__","name":"GET /\u0007","status_message":"sold out",)"
      R"("start_time_unix_nano":"1000000","duration_nano":9,"attributes":{"cut":"ab"},"cut_attributes":["cut"],)"
      R"("dropped_attributes_count":3,"dropped_links_count":2,"resource":0,)"
      R"("events":[{"name":"","time_unix_nano":"3000000","attributes":{"try":2}},{"name":"early","time_unix_nano":"1"}],)"
      R"("links":[{"trace_id":"77","span_id":"88","attributes":{"why":"batch"}}]}],)"
      R"("resources":[{"service":"s","attributes":{"host.name":"h1"},"dropped_attributes_count":1}]})");
  std::string text = trace_text(build_trace_tree(trace), options);
  std::string blank(54, ' ');
  EXPECT_NE(text.find("s  __other__ (GET /\\x07)\n" +                                       //
                      blank + "    span a1\n" + blank + "    status message: sold out\n" +  //
                      blank + "    cut = ab [cut: longer than the limit]\n" +               //
                      blank + "    (3 attributes dropped)\n" +                              //
                      "       +2 ms" + blank.substr(12) + "    event (no name)\n" +         //
                      blank + "      try = 2\n" +                                           //
                      "       -1 ms" + blank.substr(12) + "    event early\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(blank + "    link to trace 77 span 88\n" +  //
                      blank + "      why = batch\n" +             //
                      blank + "    (2 links dropped)\n" +         //
                      blank + "    resource 0\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\nresource 0\n  host.name = h1\n  (1 attribute dropped)\n")) << text;
}

TEST(TraceText, KindsThatTellSomething) {
  std::vector<GivenSpan> spans{{"a1", "", 0, 10, R"(,"kind":"server","status":"error")"},
                               {"b1", "a1", 1, 1, R"(,"kind":"internal")"},
                               {"b2", "a1", 2, 1, R"(,"kind":"unspecified")"},
                               {"b3", "a1", 3, 1, R"(,"kind":"\u001b[2J")"}};
  for (const char* kind : {"client", "producer", "consumer"})
    spans.push_back({kind, "a1", 4, 1, std::string(R"(,"kind":")") + kind + "\""});
  std::string text = text_of_spans(spans);
  EXPECT_NE(text.find("s  op-a1  [server]  [error]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s  op-client  [client]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s  op-producer  [producer]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("s  op-consumer  [consumer]\n"), std::string::npos) << text;
  for (const char* silent : {"b1", "b2", "b3"})
    EXPECT_NE(text.find(std::string("s  op-") + silent + "\n"), std::string::npos) << text;
}

TEST(TraceText, StatesAndCutValuesOfAllParts) {
  TraceTextOptions options;
  options.attributes = true;
  boost::json::value trace = boost::json::parse(
      R"({"spans":[{"span_id":"a1","service":"s","operation":"o","status":"ok","trace_state":"a=b",)"
      R"("start_time_unix_nano":"1000000","duration_nano":9,)"
      R"("events":[{"name":"e","attributes":{"k":"v"},"cut_attributes":["k"]}],)"
      R"("links":[{"trace_id":"77","span_id":"88","trace_state":"c=d","attributes":{"l":"w"},"cut_attributes":["l"]}]}],)"
      R"("resources":[{"service":"s","attributes":{"r":"x"},"cut_attributes":["r"]}]})");
  std::string text = trace_text(build_trace_tree(trace), options);
  for (const char* line : {"    status: ok\n", "    trace state: a=b\n", "      k = v [cut: longer than the limit]\n",
                           "      trace state: c=d\n", "      l = w [cut: longer than the limit]\n",
                           "  r = x [cut: longer than the limit]\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(TraceText, ValuesAreSpelledAsWhereTakesThem) {
  Result<boost::json::value> values = parse_exactly(
      R"([2.5,1.0,1e-7,"NaN","Infinity","-Infinity",null,true,18446744073709551615,-3,1.9105812482198854,)"
      R"({"a":[1.0,2.5,"x"],"b":null}])");
  ASSERT_TRUE(values.ok());
  std::vector<std::string> texts;
  for (const boost::json::value& value : values->get_array()) texts.push_back(value_text(value));
  EXPECT_EQ(texts,
            (std::vector<std::string>{"2.5", "1", "1e-07", "nan", "inf", "-inf", "", "true", "18446744073709551615",
                                      "-3", "1.9105812482198854", R"({"a":[1.0,2.5,"x"],"b":null})"}));
}

TEST(TraceText, LongValuesAreShortened) {
  std::string text = short_value_text(boost::json::value(std::string(16'384, 'v')));
  EXPECT_EQ(text, std::string(199, 'v') + "\u2026 (16384 bytes; --format json has all)");
  EXPECT_EQ(short_value_text(boost::json::value(std::string(200, 'v'))), std::string(200, 'v'));
}

TEST(TraceText, DaysKeepTheColumnsStraight) {
  std::string text = text_of_spans({{"a1", "", 0, uint64_t{100'000} * 86'400'000}, {"b1", "a1", 5, 1}});
  std::istringstream lines(text);
  std::string first;
  std::string second;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_NE(first.find(" 100000 d 00 h  "), std::string::npos) << first;
  EXPECT_EQ(first.find("\u2502"), second.find("\u2502")) << text;
}

TEST(ExactJson, RefusesWhatIsNone) {
  for (const char* text : {"", "{", "{} x", "[1,]", "nan", "\"a"}) EXPECT_FALSE(parse_exactly(text).ok()) << text;
  EXPECT_FALSE(parse_exactly(std::string(100, '[') + std::string(100, ']')).ok());
  EXPECT_TRUE(parse_exactly(" {\"a\": 1e999}\n").ok());
  EXPECT_EQ(*parse_exactly("-0.25"), boost::json::value(-0.25));
  EXPECT_EQ(*parse_exactly(R"({"k\n":["\u00e9",{}]})"), boost::json::parse(R"({"k\n":["\u00e9",{}]})"));
}

TEST(TraceText, ColourMarksErrorsOnlyWhenWanted) {
  std::vector<GivenSpan> spans{{"a1", "", 0, 1, R"(,"status":"error")"}};
  TraceTextOptions options;
  EXPECT_EQ(text_of_spans(spans, options).find('\x1b'), std::string::npos);
  options.colour = true;
  EXPECT_NE(text_of_spans(spans, options).find("\x1b[31ms  op-a1  [error]\x1b[0m"), std::string::npos);
}

TEST(TraceText, CutsNamesToTheTerminal) {
  TraceTextOptions options;
  options.columns = 80;
  boost::json::value trace = boost::json::parse(R"({"spans":[{"span_id":"a1","service":"s","operation":")" +
                                                std::string(200, 'x') + R"(","duration_nano":5}]})");
  std::string text = trace_text(build_trace_tree(trace), options);
  EXPECT_NE(text.find("xxx\u2026\n"), std::string::npos);
  EXPECT_EQ(text.find(std::string(40, 'x')), std::string::npos);
}

TEST(TraceText, LongTracesEndWithAWord) {
  std::vector<GivenSpan> spans{{"a1", "", 0, 10}};
  for (int i = 0; i < 5; ++i) spans.push_back({"b" + std::to_string(i), "a1", 1, 1});
  TraceTextOptions options;
  options.max_lines = 2;
  EXPECT_NE(text_of_spans(spans, options).find("... 4 more lines (--limit 0 shows all)\n"), std::string::npos);
  options.max_lines = 5;
  EXPECT_EQ(text_of_spans(spans, options).find("more line"), std::string::npos) << "the sixth takes no more room";
}

TEST(TraceText, AChainOfAHundredThousandSpans) {
  boost::json::array spans;
  for (int i = 0; i < 100'000; ++i) {
    spans.push_back({{"span_id", "x" + std::to_string(i)},
                     {"parent_span_id", i == 0 ? "" : "x" + std::to_string(i - 1)},
                     {"start_time_unix_nano", std::to_string(1'000'000 + i)},
                     {"duration_nano", 1}});
  }
  boost::json::value trace{{"spans", std::move(spans)}};
  TraceTree tree = build_trace_tree(trace);
  ASSERT_EQ(tree.lines.size(), 100'000u);
  EXPECT_EQ(tree.lines.back().depth, 99'999u);
  std::string text = trace_text(tree, {});
  EXPECT_NE(text.find("(depth 99999) "), std::string::npos);
  EXPECT_LT(text.size(), 40'000'000u) << "indentation must not grow with the square of the depth";
}

TEST(TraceText, HostileNumbersStayInsideTheBar) {
  EXPECT_EQ(time_bar(0, UINT64_MAX, 1, 4), "\u2501\u2501\u2501\u2501");
  EXPECT_EQ(time_bar(UINT64_MAX, UINT64_MAX, UINT64_MAX, 4), "   \u2501");
  EXPECT_EQ(time_bar(0, 0, 0, 4), "\u2501   ");
  EXPECT_EQ(time_bar(500, 0, 1000, 4), "  \u2501 ");
  boost::json::value trace = boost::json::parse(
      R"({"spans":[{"span_id":"a","start_time_unix_nano":"18446744073709551615","duration_nano":18446744073709551615},)"
      R"({"span_id":"b","start_time_unix_nano":"0","duration_nano":-5}, 7, null, {"span_id":[]}]})");
  TraceTree tree = build_trace_tree(trace);
  EXPECT_EQ(tree.spans.size(), 5u);
  EXPECT_EQ(tree.duration_nano, UINT64_MAX);
  EXPECT_FALSE(trace_text(tree, {}).empty());
}

TEST(TraceTree, EverySpanIsOnExactlyOneLine) {
  // Every way in which five spans can name each other as parents, a missing one, or none.
  for (int code = 0; code < 7 * 7 * 7 * 7 * 7; ++code) {
    std::vector<GivenSpan> spans;
    int rest = code;
    for (int i = 0; i < 5; ++i, rest /= 7) {
      int parent = rest % 7;
      spans.push_back({"x" + std::to_string(i), parent == 6 ? "" : "x" + std::to_string(parent), uint64_t(i), 1});
    }
    boost::json::value trace = trace_of(spans);
    TraceTree tree = build_trace_tree(trace);
    std::set<size_t> shown;
    size_t span_lines = 0;
    for (const TreeLine& line : tree.lines) {
      if (line.kind != LineKind::kSpan) continue;
      ++span_lines;
      shown.insert(line.span);
    }
    ASSERT_EQ(span_lines, 5u) << code;
    ASSERT_EQ(shown.size(), 5u) << code;
  }
}

}  // namespace
}  // namespace fathom::cli
