import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { observedFetch, requestLabels } from './request-metrics.ts';

const label = (method: string, path: string, debuggingHandlers = true): string => {
  const {
    path: bucket,
    method: verb,
    longRunning,
  } = requestLabels({ method, path }, { type: 'readwrite', debuggingHandlers });
  return `${verb} ${bucket} ${longRunning}`;
};

describe('labels of requests', () => {
  it('are the roots of known paths, as upstream counts them', () => {
    assert.deepEqual(
      [
        '/healthz/log',
        '/metrics',
        '/metrics/cadvisor',
        '/metrics/slis',
        '/exec/a/b/c',
        '/portForward/a/b',
        '/debug/pprof/profile',
        '/nothing',
        '/',
        '/stats/summary',
      ].map((path) => label('GET', path)),
      [
        'GET healthz false',
        'GET metrics false',
        'GET metrics/cadvisor false',
        'GET other false',
        'GET exec true',
        'GET portForward false',
        'GET debug true',
        'GET other false',
        'GET other false',
        'GET stats false',
      ],
    );
    assert.deepEqual(
      [label('BREW', '/configz'), label('GET', '/configz', false)],
      ['other configz false', 'GET other false'],
    );
  });

  it('are few, whatever is requested (CVE-2020-8551)', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        fc.string(),
        fc.array(fc.string()),
        fc.boolean(),
        (method, parts, isDebug) => void seen.add(label(method, `/${parts.join('/')}`, isDebug)),
      ),
      { numRuns: 2000 },
    );
    assert.ok(seen.size < 60, `${seen.size} labels`);
  });
});

describe('a server whose requests are counted', () => {
  it('counts a request until its answer, also one that fails', async () => {
    const seen: string[] = [];
    const observer = {
      begin: ({ path }: { path: string }) => {
        seen.push(`begin ${path}`);
        return () => void seen.push(`end ${path}`);
      },
    };
    const server = { type: 'readonly', debuggingHandlers: false } as const;
    const answering = observedFetch({ fetch: () => new Response('ok') }, observer, server);
    await answering(new Request('http://node/pods?x=1'));
    const failing = observedFetch({ fetch: () => Promise.reject(new Error('broken')) }, observer, server);
    await assert.rejects(failing(new Request('http://node/healthz')));
    assert.deepEqual(seen, ['begin pods', 'end pods', 'begin healthz', 'end healthz']);
  });
});
