// An open-loop load generator: requests start when a Poisson process says so, whether or not earlier ones are answered,
// and a request's time counts from when it should have started. A closed loop would be polite to a slow server and hide
// exactly the requests that fathom is there to find.
import http from 'node:http';

// Small and seeded (mulberry32): the same seed gives the same requests in the same order.
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const WORDS = ['red', 'lamp', 'blue chair', 'clock', 'vase 4', 'nothing at all'];

function pick(next) {
  const customer = `customer=c${Math.floor(next() * 50)}`;
  const product = Math.floor(next() * 503); // three of them do not exist
  const dice = next();
  if (dice < 0.6) return { method: 'GET', path: `/products/${product}?${customer}` };
  if (dice < 0.85) return { method: 'POST', path: `/orders/${product}?${customer}` };
  const words = encodeURIComponent(WORDS[Math.floor(next() * WORDS.length)]);
  return { method: 'GET', path: `/search?q=${words}&${customer}` };
}

function send(base, agent, { method, path }) {
  return new Promise((resolve) => {
    const request = http.request(base + path, { method, agent }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
      response.on('error', () => resolve(0));
    });
    request.on('error', () => resolve(0));
    request.end();
  });
}

const pauseUntil = (time) => new Promise((resolve) => setTimeout(resolve, Math.max(0, time - performance.now())));

function summary(times, statuses) {
  times.sort((left, right) => left - right);
  const at = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0);
  const failed = [...statuses].filter(([status]) => status === 0 || status >= 500).reduce((sum, [, n]) => sum + n, 0);
  return {
    requests: times.length,
    failed,
    statuses: Object.fromEntries(statuses),
    milliseconds: { p50: at(0.5), p99: at(0.99), max: at(1) },
  };
}

// Runs for `seconds` (0: until the signal aborts) at `rate` requests per second; returns counts and times.
export async function run({ base, seconds, rate, seed, signal }) {
  const next = random(seed);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
  const times = [];
  const statuses = new Map();
  const pending = new Set();
  const begin = performance.now();
  const end = seconds > 0 ? begin + seconds * 1000 : Infinity;
  let due = begin;
  while (!signal.aborted) {
    due += (-Math.log(1 - next()) * 1000) / rate;
    if (due >= end) break;
    await pauseUntil(due);
    const started = due;
    const one = send(base, agent, pick(next)).then((status) => {
      times.push(performance.now() - started);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      pending.delete(one);
    });
    pending.add(one);
  }
  await Promise.all(pending);
  agent.destroy();
  return summary(times, statuses);
}
