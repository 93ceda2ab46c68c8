// Sends traces without end over OpenTelemetry's gRPC exporter, each again and again until it is acknowledged, and prints the
// id of each acknowledged one: stream.cjs HOST:PORT SPANS_PER_TRACE. Ends when its standard input does.
'use strict';
const { api, exporter, trace, base, resources } = require('./sdk.cjs');

const [address, spansPerTrace] = process.argv.slice(2);
const memory = new base.InMemorySpanExporter();
const provider = new trace.NodeTracerProvider({
  resource: resources.resourceFromAttributes({ 'service.name': 'stream' }),
  spanProcessors: [new base.SimpleSpanProcessor(memory)],
});
const tracer = provider.getTracer('tests');
const target = exporter('grpc', address);
let ending = false;

function makeTrace() {
  const root = tracer.startSpan('streamed root');
  const inside = api.trace.setSpan(api.context.active(), root);
  for (let number = 1; number < Number(spansPerTrace); number += 1) {
    tracer.startSpan('streamed child', { attributes: { number } }, inside).end();
  }
  root.end();
  const spans = memory.getFinishedSpans();
  memory.reset();
  return spans;
}

// The SDK gives up after some attempts of its own; the same spans are then handed to it anew.
function send(spans) {
  return new Promise((resolve) => {
    const attempt = () => {
      target.export(spans, ({ code }) => {
        if (code === 0) return resolve(true);
        if (ending) return resolve(false);
        return setTimeout(attempt, 20);
      });
    };
    attempt();
  });
}

async function main() {
  process.stdin.on('end', () => {
    ending = true;
  });
  process.stdin.resume();
  while (!ending) {
    const spans = makeTrace();
    if (await send(spans)) console.log(spans[0].spanContext().traceId);
  }
  await target.shutdown();
}

main();
