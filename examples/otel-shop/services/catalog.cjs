// What the shop sells. Products are made up from their numbers; how many are left is inventory's to say.
'use strict';
const { HttpError, call, inSpan, serve } = require('./service.cjs');

const { INVENTORY_URL } = process.env;
const PRODUCTS = 500;
const KINDS = ['lamp', 'chair', 'kettle', 'blanket', 'clock', 'vase', 'mirror', 'stool'];
const COLOURS = ['red', 'green', 'blue', 'white', 'black'];

function product(number) {
  const name = `${COLOURS[number % COLOURS.length]} ${KINDS[number % KINDS.length]} ${number}`;
  return { id: String(number), name, price: 5 + ((number * 37) % 200) };
}

function lookUp(id) {
  return inSpan('catalog.look_up', { 'shop.product': id }, async () => {
    const number = Number(id);
    if (!Number.isInteger(number) || number < 0 || number >= PRODUCTS) throw new HttpError(404, `no product ${id}`);
    return product(number);
  });
}

function scan(words) {
  return inSpan('catalog.scan', { 'shop.query': words }, async (span) => {
    const all = Array.from({ length: PRODUCTS }, (_, number) => product(number));
    const found = all.filter((one) => one.name.includes(words)).slice(0, 3);
    span.setAttribute('shop.hits', found.length);
    return found;
  });
}

async function withStock(one) {
  const { left } = await call('GET', `${INVENTORY_URL}/stock/${one.id}`);
  return { ...one, left };
}

serve({
  'GET /products/:id': async ({ id }) => withStock(await lookUp(id)),
  'GET /search': async (_, url) => Promise.all((await scan(url.searchParams.get('q') ?? '')).map(withStock)),
});
