import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { routeAttributes } from './route-attributes.ts';

describe('the rights needed for a request to the secure server', () => {
  const subresources: readonly [path: string, expected: readonly string[]][] = [
    ['/healthz', ['healthz', 'proxy']],
    ['/healthz/syncloop', ['healthz', 'proxy']],
    ['/pods', ['pods', 'proxy']],
    ['/pods/', ['pods', 'proxy']],
    ['/runningpods/', ['pods', 'proxy']],
    ['/runningpods', ['pods', 'proxy']],
    ['/configz', ['configz', 'proxy']],
    ['/flagz', ['configz']],
    ['/statusz', ['statusz']],
    ['/stats/summary', ['stats']],
    ['/metrics', ['metrics']],
    ['/metrics/cadvisor', ['metrics']],
    ['/metrics/resource', ['metrics']],
    ['/logs/', ['log']],
    ['/logs/syslog', ['log']],
    ['/checkpoint/ns/pod/c', ['checkpoint']],
    ['/containerLogs/ns/pod/c', ['proxy']],
    ['/debug/pprof/profile', ['proxy']],
    ['/debug/flags/v', ['proxy']],
    ['/explain', ['proxy']],
    ['/podsx', ['proxy']],
    ['/metricsx/y', ['proxy']],
    ['/', ['proxy']],
    ['/Pods', ['proxy']],
  ];
  const methods: readonly [method: string, verb: string][] = [
    ['GET', 'get'],
    ['POST', 'create'],
    ['PUT', 'update'],
    ['PATCH', 'patch'],
    ['DELETE', 'delete'],
    ['HEAD', ''],
    ['OPTIONS', ''],
    ['TRACE', ''],
  ];
  for (const [path, expected] of subresources) {
    it(`${path} needs one of nodes/${expected.join(', nodes/')}, with the verb of the method`, () => {
      for (const [method, verb] of methods)
        assert.deepEqual(routeAttributes(method, path, false), { verb, subresources: expected }, method);
    });
  }

  for (const action of ['/exec', '/attach', '/run', '/portForward']) {
    it(`${action} needs create with any method, with an upgrade or without`, () => {
      for (const [method] of methods) {
        for (const isUpgrade of [false, true])
          assert.deepEqual(routeAttributes(method, `${action}/ns/pod/c`, isUpgrade), {
            verb: 'create',
            subresources: ['proxy'],
          });
      }
    });
  }

  it('never treats an upgrade as a read', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom(...methods.map(([method]) => method)),
        (path, method) => routeAttributes(method, path, true).verb === 'create',
      ),
    );
  });

  it('requires proxy where there is no finer subresource', () => {
    const known = new Set(subresources.map(([path]) => path.split('/')[1]));
    fc.assert(
      fc.property(
        fc.string().filter((segment) => !known.has(segment.split('/')[0] ?? '')),
        (segment) => assert.deepEqual(routeAttributes('GET', `/${segment}`, false).subresources, ['proxy']),
      ),
    );
  });
});
