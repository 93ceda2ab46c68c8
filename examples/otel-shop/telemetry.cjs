// OpenTelemetry's own SDK, unchanged: loaded before a service (`node --require ./telemetry.cjs`), configured by the
// standard OTEL_* variables that run.mjs sets (service name, protocol, endpoint). Nothing here knows fathom.
'use strict';
const { diag } = require('@opentelemetry/api');
const { NodeSDK } = require('@opentelemetry/sdk-node');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');

const telemetry = { failures: 0, shutdown: () => sdk.shutdown() };

// The exporters hand over errors as JSON with a stack; the message is what a reader can use.
function plain(word) {
  try {
    return JSON.parse(word).message ?? word;
  } catch {
    return word;
  }
}

function say(...words) {
  console.error(`${process.env.OTEL_SERVICE_NAME}: OpenTelemetry:`, ...words.map(plain));
}

// The SDK reports exports that it gave up on here and nowhere else; a run that lost spans must not end as a success.
diag.setLogger({
  verbose() {},
  debug() {},
  info() {},
  warn: say,
  error: (...words) => {
    telemetry.failures += 1;
    say(...words);
  },
});

const sdk = new NodeSDK({ instrumentations: [new HttpInstrumentation()] });
sdk.start();
module.exports = telemetry;
