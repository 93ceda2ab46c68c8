// Unary gRPC calls with bytes of one's choice, for a server that must survive them: poke.cjs HOST:PORT
//
// Reads lines of JSON {"method", "size", "hex"} (`size` zero bytes follow the bytes of `hex`), answers each with a line
// {"code", "details", "retry"}; `retry` tells whether the error carried details in grpc-status-details-bin.
'use strict';
const readline = require('node:readline');
const { grpc } = require('./sdk.cjs');

const { Client, credentials } = grpc();
const client = new Client(process.argv[2], credentials.createInsecure(), {
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
});
const same = (bytes) => bytes;

function call({ method, hex = '', size = 0 }) {
  const bytes = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(size)]);
  const deadline = Date.now() + 60000;
  return new Promise((resolve) => {
    client.makeUnaryRequest(method, same, same, bytes, { deadline }, (error) => {
      const details = error?.metadata?.get('grpc-status-details-bin') ?? [];
      resolve({ code: error?.code ?? 0, details: error?.details ?? '', retry: details.length > 0 });
    });
  });
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await call(JSON.parse(line))));
  }
  client.close();
}

main();
