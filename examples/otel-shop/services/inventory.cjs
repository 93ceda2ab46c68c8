// How many are left. Most answers come from memory; one stock query in twenty and every reservation of a scarce product
// must see the last complete snapshot, a file that another process (snapshot-writer.cjs) writes anew every few seconds.
// While it is being written such a request waits: that wait is what makes the shop's slowest requests slow.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { HttpError, inSpan, serve } = require('./service.cjs');

const { SNAPSHOT_FILE } = process.env;
const START = 40;
const stock = new Map();
let reservations = 0;
let queries = 0;

const left = (id) => stock.get(id) ?? START;
const isScarce = (id) => Number(id) % 7 === 0;

// Resolves when the file is there. The directory is watched before the first look, so that no arrival is missed.
function untilWritten(file) {
  return new Promise((resolve, reject) => {
    const watcher = fs.watch(path.dirname(file));
    const look = () => {
      if (!fs.existsSync(file)) return;
      watcher.close();
      resolve();
    };
    watcher.on('change', look);
    watcher.on('error', reject);
    look();
  });
}

function waitForSnapshot() {
  return inSpan('inventory.wait_for_snapshot', { 'file.path': SNAPSHOT_FILE }, (span) => {
    span.addEvent('the snapshot is being written by another process');
    return untilWritten(SNAPSHOT_FILE);
  });
}

async function readSnapshot() {
  if (!fs.existsSync(SNAPSHOT_FILE)) await waitForSnapshot();
  return inSpan('inventory.read_snapshot', { 'file.path': SNAPSHOT_FILE }, async (span) => {
    const text = await fs.promises.readFile(SNAPSHOT_FILE, 'utf8');
    span.setAttribute('file.size', text.length);
    return JSON.parse(text);
  });
}

// Between the look and the read the writer may have begun anew; then there is a next snapshot to wait for.
async function snapshot() {
  for (;;) {
    try {
      return await readSnapshot();
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
}

async function reserve(id) {
  if (isScarce(id)) await snapshot();
  if (left(id) <= 0) throw new HttpError(409, `product ${id} is sold out`);
  stock.set(id, left(id) - 1);
  reservations += 1;
  return { id: `r-${reservations}` };
}

serve({
  'GET /stock/:id': async ({ id }) => {
    queries += 1;
    if (queries % 20 === 0) await snapshot();
    return { id, left: left(id) };
  },
  'POST /reservations/:id': async ({ id }) => reserve(id),
});
