// The other task: every few seconds it takes the stock snapshot away, writes a new one piece by piece, and puts it in place.
// It is no service and has no spans: what it does to inventory shows only in inventory's traces.
'use strict';
const fs = require('node:fs');

const { SNAPSHOT_FILE } = process.env;
const REST_MS = 2500;
const PIECES = 40;
const PIECE_MS = 10;
const PIECE = 'x'.repeat(4096);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function write(number) {
  const part = `${SNAPSHOT_FILE}.part`;
  await fs.promises.rm(SNAPSHOT_FILE, { force: true });
  const file = await fs.promises.open(part, 'w');
  await file.write(`{"number":${number},"rows":["${PIECE}"`);
  for (let piece = 0; piece < PIECES; piece += 1) {
    await file.write(`,"${PIECE}"`);
    await pause(PIECE_MS);
  }
  await file.write(']}');
  await file.sync();
  await file.close();
  await fs.promises.rename(part, SNAPSHOT_FILE);
}

async function main() {
  for (let number = 1; ; number += 1) {
    await write(number);
    if (number === 1) process.send({ ready: true });
    await pause(REST_MS);
  }
}

process.on('SIGINT', () => {});
process.on('message', (message) => message === 'stop' && process.exit(0));
process.on('disconnect', () => process.exit(0));
main();
