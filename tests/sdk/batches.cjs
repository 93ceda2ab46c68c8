// Ends spans without end, which OpenTelemetry's batch processor and gRPC exporter bring to HOST:PORT as they would any
// program's: batches.cjs HOST:PORT. When its standard input ends it flushes and prints how many spans it ended. Its exit
// status is 1 if the SDK had to say that something went wrong.
'use strict';
const { api, exporter, trace, base, resources } = require('./sdk.cjs');

const PROVIDERS = 4; // each has one batch under way at nearly every moment
const SPANS_PER_TICK = 5;
const address = process.argv[2];
const resource = resources.resourceFromAttributes({ 'service.name': 'batches' });
const options = { maxExportBatchSize: 64, maxQueueSize: 1 << 20, scheduledDelayMillis: 1 };
const providers = Array.from({ length: PROVIDERS }, () => {
  const processor = new base.BatchSpanProcessor(exporter('grpc', address), options);
  return new trace.NodeTracerProvider({ resource, spanProcessors: [processor] });
});

function fail(...words) {
  console.error(...words);
  process.exitCode = 1;
}

async function main() {
  api.diag.setLogger({ verbose() {}, debug() {}, info() {}, warn: fail, error: fail });
  let ended = 0;
  const ticking = setInterval(() => {
    for (const provider of providers) {
      const tracer = provider.getTracer('tests');
      for (let number = 0; number < SPANS_PER_TICK; number += 1) tracer.startSpan('batched').end();
      ended += SPANS_PER_TICK;
    }
  }, 2);
  for await (const _ of process.stdin); // nothing comes; it ends
  clearInterval(ticking);
  await Promise.all(providers.map((provider) => provider.shutdown()));
  console.log(ended);
}

main().catch(fail);
