// OpenTelemetry's packages, as the example shop has them installed.
'use strict';
const { createRequire } = require('node:module');
const path = require('node:path');

const shop = createRequire(path.join(__dirname, '../../examples/otel-shop/package.json'));
// The exporters are dependencies of sdk-node, not of the shop: they are found from where sdk-node lies.
const inside = createRequire(shop.resolve('@opentelemetry/sdk-node'));
const exporterInside = createRequire(inside.resolve('@opentelemetry/exporter-trace-otlp-grpc'));

const EXPORTERS = {
  grpc: '@opentelemetry/exporter-trace-otlp-grpc',
  'http/protobuf': '@opentelemetry/exporter-trace-otlp-proto',
  'http/json': '@opentelemetry/exporter-trace-otlp-http',
};

// An exporter of `protocol` to `address` (HOST:PORT), exactly as a program would make it.
function exporter(protocol, address, compression = 'none') {
  const { OTLPTraceExporter } = inside(EXPORTERS[protocol]);
  const url = protocol === 'grpc' ? `http://${address}` : `http://${address}/v1/traces`;
  return new OTLPTraceExporter({ url, compression });
}

// One that is told nothing: OTEL_EXPORTER_OTLP_* say all.
function exporterByEnvironment(protocol) {
  const { OTLPTraceExporter } = inside(EXPORTERS[protocol]);
  return new OTLPTraceExporter();
}

module.exports = {
  api: shop('@opentelemetry/api'),
  exporter,
  exporterByEnvironment,
  grpc: () => exporterInside('@grpc/grpc-js'),
  trace: inside('@opentelemetry/sdk-trace-node'),
  base: inside('@opentelemetry/sdk-trace-base'),
  resources: inside('@opentelemetry/resources'),
};
