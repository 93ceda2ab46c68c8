// Sends one span by an unchanged exporter of OpenTelemetry's Node SDK that knows nothing but OTEL_EXPORTER_OTLP_* of its
// environment, and prints the trace's id; what the SDK's user would see is on standard error: one_span.cjs PROTOCOL
'use strict';
const { api, exporterByEnvironment, base, trace } = require('./sdk.cjs');

api.diag.setLogger(new api.DiagConsoleLogger(), api.DiagLogLevel.WARN);
const provider = new trace.NodeTracerProvider({
  spanProcessors: [new base.BatchSpanProcessor(exporterByEnvironment(process.argv[2]))],
});
const span = provider.getTracer('tests').startSpan('over TLS');
span.end();

async function main() {
  console.log(span.spanContext().traceId);
  await provider.forceFlush();
  await provider.shutdown();
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
