// What a server may answer of broken programs.

/** A trace of which everything is wrong that can be. */
export function brokenTrace() {
  const origin = 1795221003123456789n;
  const span = (spanId, parent, from, to, more = {}) => ({
    ...{
      span_id: spanId,
      parent_span_id: parent,
      service: "shop",
      operation: spanId,
      kind: "internal",
      status: "unset",
    },
    ...{ start_time_unix_nano: (origin + BigInt(from)).toString(), duration_nano: to - from },
    ...{ attributes: {}, events: [], links: [], resource: 0, scope: 0 },
    ...more,
  });
  const clock = { offset_nano: -5_000_000, error_nano: 40_000 };
  const spans = [
    span("root", "", 0, 100e6),
    span("call", "root", 10e6, 90e6, { kind: "client" }),
    span("answer", "call", 25e6, 85e6, {
      kind: "server",
      resource: 1,
      clock,
      corrected_start_time_unix_nano: (origin + 20_000_000n).toString(),
    }),
    span("twice", "root", 30e6, 40e6, { conflicting: true }),
    span("twice", "root", 50e6, 60e6, { conflicting: true }),
    span("orphan", "never", 20e6, 30e6),
    span("ring", "gnir", 40e6, 50e6),
    span("gnir", "ring", 41e6, 49e6),
  ];
  const resource = { service: "shop", attributes: {} };
  const scope = { name: "", version: "", attributes: {} };
  return {
    trace_id: "f".repeat(32),
    start_time_unix_nano: origin.toString(),
    duration_nano: 100e6,
    complete: false,
    spans,
    resources: [resource, { ...resource, service: "far" }],
    scopes: [scope],
    captures: [],
  };
}
