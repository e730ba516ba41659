import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Hono } from 'hono';
import type { ScrapeRequest } from './scrape-routes.ts';
import { addScrapeRoutes } from './scrape-routes.ts';

describe('scrape routes', () => {
  it("pass query and headers, and return the endpoint's response", async () => {
    const app = new Hono();
    const asked: ScrapeRequest[] = [];
    addScrapeRoutes(
      app,
      new Map([
        [
          'POST /stats/summary',
          async (request) => {
            asked.push(request);
            return { status: 200, headers: { 'Content-Type': 'application/json' }, body: '{}' };
          },
        ],
      ]),
    );
    const answer = await app.request('/stats/summary?only_cpu_and_memory=true', {
      method: 'POST',
      headers: { Accept: '*/*', 'Accept-Encoding': 'gzip' },
    });
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type'), await answer.text()],
      [200, 'application/json', '{}'],
    );
    assert.deepEqual(
      asked.map(({ method, query, accept, acceptEncoding }) => [
        method,
        query.get('only_cpu_and_memory'),
        accept,
        acceptEncoding,
      ]),
      [['POST', 'true', '*/*', 'gzip']],
    );
    assert.equal((await app.request('/stats/summary')).status, 404);
  });
});
