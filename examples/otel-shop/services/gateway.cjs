// The shop's front door: every request of the load generator starts here.
'use strict';
const { trace } = require('@opentelemetry/api');
const { call, serve } = require('./service.cjs');

const { CATALOG_URL, INVENTORY_URL } = process.env;

function remember(url) {
  trace.getActiveSpan()?.setAttribute('shop.customer', url.searchParams.get('customer') ?? 'nobody');
}

serve({
  'GET /products/:id': async ({ id }, url) => {
    remember(url);
    return call('GET', `${CATALOG_URL}/products/${id}`);
  },
  'GET /search': async (_, url) => {
    remember(url);
    return call('GET', `${CATALOG_URL}/search?q=${encodeURIComponent(url.searchParams.get('q') ?? '')}`);
  },
  'POST /orders/:id': async ({ id }, url) => {
    remember(url);
    const product = await call('GET', `${CATALOG_URL}/products/${id}`);
    const reservation = await call('POST', `${INVENTORY_URL}/reservations/${id}`);
    return { product: product.name, reservation: reservation.id };
  },
});
