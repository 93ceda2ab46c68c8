// Sends one trace with everything a span can carry through an unchanged exporter of OpenTelemetry's Node SDK, and prints
// what was sent as JSON: export.cjs PROTOCOL HOST:PORT COMPRESSION
'use strict';
const { api, exporter, trace, base, resources } = require('./sdk.cjs');

const [protocol, address, compression] = process.argv.slice(2);
const memory = new base.InMemorySpanExporter();
const provider = new trace.NodeTracerProvider({
  resource: resources.resourceFromAttributes({
    'service.name': 'sdk-test',
    'service.namespace': 'tests',
    'service.version': '1.2.3',
    'deployment.cores': 4,
  }),
  spanProcessors: [
    new base.BatchSpanProcessor(exporter(protocol, address, compression === 'gzip' ? 'gzip' : 'none')),
    new base.SimpleSpanProcessor(memory),
  ],
});

function everything(tracer) {
  const now = Date.now();
  const at = (ms) => new Date(now + ms);
  const root = tracer.startSpan('root operation', { kind: api.SpanKind.SERVER, startTime: at(0) });
  root.setAttributes({
    text: 'grüße, 世界 🌍 "quoted" \\ back\nline',
    empty: '',
    yes: true,
    no: false,
    whole: 42,
    negative: -7,
    big: 9007199254740991,
    real: 0.1,
    texts: ['a', 'b'],
    numbers: [1, 2, 3],
    truths: [true, false],
  });
  const inRoot = api.trace.setSpan(api.context.active(), root);
  const other = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), traceFlags: 1 };
  const child = tracer.startSpan(
    'child operation',
    { kind: api.SpanKind.CLIENT, startTime: at(10), links: [{ context: other, attributes: { why: 'a link' } }] },
    inRoot,
  );
  child.addEvent('something happened', { step: 1, detail: 'an event' }, at(15));
  child.recordException(new TypeError('it broke'), at(16));
  child.setStatus({ code: api.SpanStatusCode.ERROR, message: 'it failed' });
  child.end(at(30));
  const kinds = { internal: api.SpanKind.INTERNAL, producer: api.SpanKind.PRODUCER, consumer: api.SpanKind.CONSUMER };
  for (const [name, kind] of Object.entries(kinds)) {
    tracer.startSpan(name, { kind, startTime: at(31) }, inRoot).end(at(40));
  }
  root.setStatus({ code: api.SpanStatusCode.OK });
  root.end(at(50));
}

const nano = ([seconds, nanos]) => (BigInt(seconds) * 1000000000n + BigInt(nanos)).toString();

function plain(span) {
  return {
    trace_id: span.spanContext().traceId,
    span_id: span.spanContext().spanId,
    parent_span_id: span.parentSpanContext?.spanId ?? '',
    name: span.name,
    kind: api.SpanKind[span.kind].toLowerCase(),
    start_time_unix_nano: nano(span.startTime),
    duration_nano: Number(BigInt(nano(span.endTime)) - BigInt(nano(span.startTime))),
    status: ['unset', 'ok', 'error'][span.status.code],
    status_message: span.status.message ?? '',
    attributes: span.attributes,
    events: span.events.map((event) => ({
      name: event.name,
      time_unix_nano: nano(event.time),
      attributes: event.attributes ?? {},
    })),
    links: span.links.map((link) => ({
      trace_id: link.context.traceId,
      span_id: link.context.spanId,
      attributes: link.attributes ?? {},
    })),
  };
}

async function main() {
  api.diag.setLogger({ verbose() {}, debug() {}, info() {}, warn: console.error, error: fail });
  everything(provider.getTracer('tests', '0.1'));
  await provider.forceFlush();
  console.log(JSON.stringify(memory.getFinishedSpans().map(plain)));
  await provider.shutdown();
}

function fail(...words) {
  console.error(...words);
  process.exitCode = 1;
}

main().catch(fail);
