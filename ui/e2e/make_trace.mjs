// Sends a made trace to a server, and prints its id: node e2e/make_trace.mjs http://HOST:PORT (of OTLP) SPANS [slow]
//
// A shop of some services: a checkout that asks the same of a database over and over, calls others side by side, fails
// here and there; spans whose parent never comes, events, links, large integers. `slow` makes the database four times
// slower, so that two of them can be compared.
import { randomBytes } from "node:crypto";

const [collector, count = "200", pace = "usual"] = process.argv.slice(2);
const id = (bytes) => randomBytes(bytes).toString("hex");
const traceId = id(16);
const total = Number(count);
const slow = pace === "slow" ? 4 : 1;
const began = BigInt(Date.now() - 5000) * 1_000_000n;
const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };

const value = (one) =>
  typeof one === "bigint" || Number.isInteger(one)
    ? { intValue: one.toString() }
    : typeof one === "number"
      ? { doubleValue: one }
      : typeof one === "boolean"
        ? { boolValue: one }
        : Array.isArray(one)
          ? { arrayValue: { values: one.map(value) } }
          : { stringValue: one };
const attributes = (all) => Object.entries(all).map(([key, one]) => ({ key, value: value(one) }));

const services = new Map();
let made = 0;

/** Begins and ends `from` and `to` nanoseconds after the trace's begin. */
function span(service, name, kind, parent, from, to, more = {}) {
  made += 1;
  const one = {
    traceId,
    spanId: id(8),
    parentSpanId: parent,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: (began + BigInt(Math.round(from))).toString(),
    endTimeUnixNano: (began + BigInt(Math.round(to))).toString(),
    attributes: attributes(more.attributes ?? {}),
    events: (more.events ?? []).map(([at, event, said]) => ({
      name: event,
      timeUnixNano: (began + BigInt(Math.round(at))).toString(),
      attributes: attributes(said),
    })),
    links: more.links ?? [],
    status: more.error ? { code: 2, message: more.error } : {},
  };
  if (!services.has(service)) services.set(service, []);
  services.get(service).push(one);
  return one.spanId;
}

const MS = 1e6;
const query = 0.4 * MS * slow;
const inner = Math.max(total - 14, 1);
const end = 20 * MS + inner * query + 30 * MS;

const root = span("gateway", "POST /checkout", "server", "", 0, end, {
  attributes: {
    "http.request.method": "POST",
    "http.route": "/checkout",
    "user.tier": "gold",
    "order.id": 9223372036854775807n,
  },
  links: [{ traceId: id(16), spanId: id(8), attributes: attributes({ reason: "retried from" }) }],
});
const call = span("gateway", "checkout.Checkout/Place", "client", root, 2 * MS, end - 2 * MS);
const place = span("checkout", "checkout.Checkout/Place", "server", call, 3 * MS, end - 3 * MS, {
  attributes: { "rpc.system": "grpc", items: ["book", "pen"], "cart.weight": 1.25, express: true },
  events: [[5 * MS, "cart loaded", { items: 2 }]],
});
span("inventory", "reserve", "client", place, 4 * MS, 15 * MS);
span("prices", "quote", "client", place, 4 * MS, 9 * MS, { attributes: { "cache.hit": false } });
const orders = span("checkout", "load the orders", "internal", place, 16 * MS, 18 * MS + inner * query);
let batch = orders;
for (let nth = 0; made < total - 6; ++nth) {
  const from = 17 * MS + (nth / inner) * inner * query;
  // Large traces have some depth: every fiftieth query opens a batch.
  if (inner > 500 && nth % 50 === 0) {
    batch = span("checkout", `batch ${Math.floor(nth / 50) % 7}`, "internal", orders, from, from + 50 * query);
    continue;
  }
  const failed = nth % 97 === 42;
  span("orders-db", nth % 50 === 49 ? "COMMIT" : "SELECT orders", "client", batch, from, from + query * 0.9, {
    attributes: { "db.system": "postgresql", "db.query.text": `SELECT * FROM orders WHERE id = ${nth}`, row: nth },
    ...(failed && {
      error: "canceling statement due to lock timeout",
      events: [
        [from + query / 2, "exception", { "exception.type": "LockTimeout", "exception.message": "lock timeout" }],
      ],
    }),
  });
}
const pay = span("checkout", "pay", "client", place, end - 25 * MS, end - 8 * MS);
span("payments", "charge", "server", pay, end - 24 * MS, end - 9 * MS, { error: "card declined once" });
span("mailer", "send receipt", "consumer", place, end - 5 * MS, end + 40 * MS);
const lost = id(8);
span("fraud", "score", "internal", lost, 6 * MS, 12 * MS);
span("fraud", "look up", "client", lost, 7 * MS, 11 * MS);

for (const [service, spans] of services) {
  for (let from = 0; from < spans.length; from += 5000) {
    const body = {
      resourceSpans: [
        {
          resource: {
            attributes: attributes({
              "service.name": service,
              "service.version": "1.4.2",
              "host.name": `${service}-1`,
            }),
          },
          scopeSpans: [{ scope: { name: "made", version: "1" }, spans: spans.slice(from, from + 5000) }],
        },
      ],
    };
    const answer = await fetch(`${collector}/v1/traces`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  }
}
console.log(traceId);
