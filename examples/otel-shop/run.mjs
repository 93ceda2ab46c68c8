// Starts the shop on free ports, sends it load, flushes its spans, ends.
//
//   node run.mjs [--otlp-http URL | --otlp-grpc HOST:PORT] [--json] [--seconds N] [--rate R] [--seed S]
//
// Prints one line of JSON about the load. Exit status: 0 all went well, 1 a service failed or spans were not delivered,
// 2 wrong usage.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { run } from './load.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const USAGE = `usage: node run.mjs [--otlp-http URL | --otlp-grpc HOST:PORT] [--json] [--seconds N] [--rate R] [--seed S]

  --otlp-http URL        send spans by HTTP, in protobuf (default: http://127.0.0.1:4318)
  --otlp-grpc HOST:PORT  send spans by gRPC
  --json                 with HTTP: in JSON
  --seconds N            how long (default 20; 0: until Ctrl-C)
  --rate R               requests per second, on average (default 40)
  --seed S               of the requests (default 1)`;

function fail(message) {
  console.error(`${message}\n\n${USAGE}`);
  process.exit(2);
}

function number(text, name) {
  const value = Number(text);
  if (text === '' || !Number.isFinite(value) || value < 0) fail(`--${name} wants a number, not "${text}"`);
  return value;
}

function options() {
  let values;
  try {
    const text = { type: 'string' };
    const known = { 'otlp-http': text, 'otlp-grpc': text, seconds: text, rate: text, seed: text };
    const flags = { json: { type: 'boolean' }, help: { type: 'boolean' } };
    ({ values } = parseArgs({ options: { ...known, ...flags } }));
  } catch (error) {
    fail(error.message);
  }
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  if (values['otlp-http'] && values['otlp-grpc']) fail('--otlp-http or --otlp-grpc, not both');
  return {
    grpc: values['otlp-grpc'],
    http: values['otlp-http'] ?? 'http://127.0.0.1:4318',
    json: values.json ?? false,
    seconds: number(values.seconds ?? '20', 'seconds'),
    rate: number(values.rate ?? '40', 'rate') || fail('--rate must be more than 0'),
    seed: number(values.seed ?? '1', 'seed'),
  };
}

// The standard variables of every OpenTelemetry SDK. Batches leave every half second, so that a demo need not wait five.
function telemetryEnvironment({ grpc, http, json }) {
  return {
    OTEL_EXPORTER_OTLP_PROTOCOL: grpc ? 'grpc' : json ? 'http/json' : 'http/protobuf',
    OTEL_EXPORTER_OTLP_ENDPOINT: grpc ? `http://${grpc}` : http,
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_RESOURCE_ATTRIBUTES: 'service.namespace=otel-shop,deployment.environment.name=demo',
    OTEL_BSP_SCHEDULE_DELAY: '500',
  };
}

class Shop {
  children = [];
  failures = 0;
  ending = false;

  constructor(telemetry, directory, onFailure) {
    this.environment = { ...process.env, ...telemetry, SNAPSHOT_FILE: path.join(directory, 'stock.json') };
    this.onFailure = onFailure;
  }

  // Starts one program and waits for its first message: it is ready.
  async start(name, environment = {}, execArgv = ['--require', path.join(HERE, 'telemetry.cjs')]) {
    const env = { ...this.environment, ...environment, OTEL_SERVICE_NAME: name };
    const child = fork(path.join(HERE, 'services', `${name}.cjs`), { env, execArgv });
    const ended = once(child, 'exit').then(([code, signal]) => {
      if (code !== 0) this.fail(`${name} ended with ${signal ?? `status ${code}`}`);
      else if (!this.ending) this.fail(`${name} ended early`);
    });
    this.children.push({ child, ended });
    const [message] = await Promise.race([once(child, 'message'), ended.then(() => [{}])]);
    return message.port ? `http://127.0.0.1:${message.port}` : undefined;
  }

  fail(message) {
    this.failures += 1;
    console.error(message);
    this.onFailure();
  }

  async open() {
    await this.start('snapshot-writer', {}, []);
    const inventory = await this.start('inventory');
    const catalog = await this.start('catalog', { INVENTORY_URL: inventory });
    return this.start('gateway', { INVENTORY_URL: inventory, CATALOG_URL: catalog });
  }

  // Front to back, so that each service still has those it calls while it finishes.
  async close() {
    this.ending = true;
    for (const { child, ended } of this.children.reverse()) {
      if (child.connected) child.send('stop');
      await ended;
    }
  }
}

async function main() {
  const chosen = options();
  const stop = new AbortController();
  process.on('SIGINT', () => stop.abort());
  process.on('SIGTERM', () => stop.abort());
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'otel-shop-'));
  const shop = new Shop(telemetryEnvironment(chosen), directory, () => stop.abort());
  try {
    const base = await shop.open();
    const result = shop.failures ? undefined : await run({ ...chosen, base, signal: stop.signal });
    await shop.close();
    if (result) console.log(JSON.stringify(result));
    return shop.failures > 0 || (result?.failed ?? 1) > 0 ? 1 : 0;
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

if (!fs.existsSync(path.join(HERE, 'node_modules'))) {
  console.error(`the shop's packages are not installed: npm ci --prefix ${HERE}`);
  process.exit(1);
}
process.exitCode = await main();
