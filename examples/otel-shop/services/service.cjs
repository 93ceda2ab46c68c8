// What the three services share: an HTTP server with routes, JSON calls to each other, and an orderly end.
//
// A service is told to stop by its parent ('stop', or the parent's death); it then finishes the requests under way,
// flushes its spans and exits 0, or 1 when the SDK lost an export.
'use strict';
const http = require('node:http');
const { SpanStatusCode, trace } = require('@opentelemetry/api');
const telemetry = require('../telemetry.cjs');

class HttpError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// Routes are written 'GET /products/:id'; the handler gets {id} and the URL, and returns what becomes the JSON body.
function compile(routes) {
  return Object.entries(routes).map(([route, handler]) => {
    const [method, path] = route.split(' ');
    const pattern = new RegExp(`^${path.replace(/:(\w+)/g, '(?<$1>[^/]+)')}$`);
    return { method, path, pattern, handler };
  });
}

function find(routes, method, pathname) {
  for (const route of routes) {
    const match = route.method === method && route.pattern.exec(pathname);
    if (match) return { ...route, parameters: match.groups ?? {} };
  }
  return undefined;
}

// The HTTP instrumentation cannot know routes; without them every request would be the one operation "GET".
function nameSpan(method, path) {
  const span = trace.getActiveSpan();
  span?.updateName(`${method} ${path}`);
  span?.setAttribute('http.route', path);
}

async function answer(routes, request) {
  const url = new URL(request.url, 'http://service');
  const route = find(routes, request.method, url.pathname);
  if (!route) throw new HttpError(404, `no route for ${request.method} ${url.pathname}`);
  nameSpan(route.method, route.path);
  return route.handler(route.parameters, url);
}

function reply(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function fail(response, error) {
  const status = error instanceof HttpError ? error.status : 500;
  const span = trace.getActiveSpan();
  if (status >= 500) {
    span?.recordException(error);
    span?.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
  }
  reply(response, status, { error: error.message });
}

function serve(routes) {
  const compiled = compile(routes);
  const server = http.createServer((request, response) => {
    request.resume();
    answer(compiled, request).then(
      (body) => reply(response, 200, body),
      (error) => fail(response, error),
    );
  });
  server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
  stopWithParent(server);
}

function stopWithParent(server) {
  let stopping = false;
  const stop = async () => {
    if (stopping) return;
    stopping = true;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeIdleConnections();
    await closed;
    await telemetry.shutdown().catch((error) => {
      telemetry.failures += 1;
      console.error(`${process.env.OTEL_SERVICE_NAME}: spans were not flushed:`, error.message);
    });
    process.exit(telemetry.failures > 0 ? 1 : 0);
  };
  process.on('message', (message) => message === 'stop' && stop());
  process.on('disconnect', stop);
  // Ctrl-C reaches the whole process group; the parent decides when the services end.
  process.on('SIGINT', () => {});
}

// A JSON request to another service; its refusal becomes ours, with 4xx kept and everything else a 502.
function call(method, url) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString() || 'null');
        if (response.statusCode < 400) return resolve(body);
        const status = response.statusCode < 500 ? response.statusCode : 502;
        return reject(new HttpError(status, body?.error ?? `status ${response.statusCode}`));
      });
    });
    request.on('error', reject);
    request.end();
  });
}

// Runs `work` inside a span of our own, as code under OpenTelemetry's API does.
function inSpan(name, attributes, work) {
  return trace.getTracer('otel-shop').startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.recordException(error);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      throw error;
    } finally {
      span.end();
    }
  });
}

module.exports = { HttpError, call, inSpan, serve };
