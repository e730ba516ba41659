import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecordingTracer } from '../../../base/testing/recording-tracer.ts';
import { requestRoute, requestSpan, tracedFetch } from './request-traces.ts';

test('a request is named by its upstream route; health, metrics and unknown paths have none', () => {
  const named = [
    '/pods',
    '/pods/',
    '/runningpods/',
    '/containerLogs/shop/web/nginx',
    '/exec/shop/web/nginx',
    '/run/shop/web/1234/nginx',
    '/attach/shop/web/nginx',
    '/portForward/shop/web',
    '/portForward/shop/web/1234',
    '/checkpoint/shop/web/nginx',
    '/logs/',
    '/logs/a/b.log',
    '/stats/summary',
    '/debug/pprof/heap',
    ...[
      '/healthz',
      '/metrics',
      '/metrics/cadvisor',
      '/configz',
      '/debug/flags/v',
      '/exec/shop',
      '/',
      '//',
      '/__proto__',
    ],
  ].map((path) => [path, requestRoute(path)]);
  assert.deepEqual(named, [
    ['/pods', '/pods'],
    ['/pods/', '/pods'],
    ['/runningpods/', '/runningpods/'],
    ['/containerLogs/shop/web/nginx', '/containerLogs/{podNamespace}/{podID}/{containerName}'],
    ['/exec/shop/web/nginx', '/exec/{podNamespace}/{podID}/{containerName}'],
    ['/run/shop/web/1234/nginx', '/run/{podNamespace}/{podID}/{uid}/{containerName}'],
    ['/attach/shop/web/nginx', '/attach/{podNamespace}/{podID}/{containerName}'],
    ['/portForward/shop/web', '/portForward/{podNamespace}/{podID}'],
    ['/portForward/shop/web/1234', '/portForward/{podNamespace}/{podID}/{uid}'],
    ['/checkpoint/shop/web/nginx', '/checkpoint/{podNamespace}/{podID}/{containerName}'],
    ['/logs/', '/logs/'],
    ['/logs/a/b.log', '/logs/{logpath:*}'],
    ['/stats/summary', '/stats/summary'],
    ['/debug/pprof/heap', '/debug/pprof/{subpath:*}'],
    ...[
      '/healthz',
      '/metrics',
      '/metrics/cadvisor',
      '/configz',
      '/debug/flags/v',
      '/exec/shop',
      '/',
      '//',
      '/__proto__',
    ].map((path) => [path, undefined]),
  ]);
});

test('a span of a request continues the trace of its client, and has the status of the response', async () => {
  const tracer = new RecordingTracer();
  const served = (status: number) => tracedFetch(() => Promise.resolve(new Response('', { status })), tracer);
  const request = new Request('https://node:10250/pods?x=1', { headers: { traceparent: 't', cookie: 'secret' } });
  assert.equal((await served(200)(request)).status, 200);
  await served(503)(request);
  await served(200)(new Request('https://node:10250/healthz'));
  const facts = {
    'http.request.method': 'GET',
    'http.route': '/pods',
    'server.address': 'kubelet',
    'url.path': '/pods',
  };
  assert.deepEqual(
    tracer.spans.map(({ name, kind, incoming, attributes, error }) => [name, kind, incoming, attributes, error]),
    [
      ['/pods', 'server', { traceparent: 't' }, { ...facts, 'http.response.status_code': 200 }, undefined],
      ['/pods', 'server', { traceparent: 't' }, { ...facts, 'http.response.status_code': 503 }, ''],
    ],
  );
});

test('a client that was not authenticated does not choose which requests are traced', () => {
  assert.equal(requestSpan({ method: 'GET', path: '/pods', headers: {} }, true)?.isPublic, true);
});
