import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isLongRunning, meaningfulParts, parseRequestInfo as parseSplit } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import { cutPath, splitPath } from './split-path.ts';

const parseRequestInfo = (method: string, path: string, query: URLSearchParams): RequestInfo | undefined =>
  parseSplit(method, splitPath(path), query);

function info(method: string, target: string): Record<string, unknown> | undefined {
  const [path = '', query = ''] = target.split('?');
  const { verb, group, version, namespace, resource, subresource, name, resourceRequest } =
    parseRequestInfo(method, path, new URLSearchParams(query)) ?? {};
  return resourceRequest === undefined
    ? undefined
    : resourceRequest
      ? { verb, group, version, namespace, resource, subresource, name }
      : { verb };
}
const of = (
  verb: string,
  rest: Partial<Record<'group' | 'version' | 'namespace' | 'resource' | 'subresource' | 'name', string>>,
): object => ({
  verb,
  group: '',
  version: 'v1',
  namespace: '',
  resource: '',
  subresource: '',
  name: '',
  ...rest,
});

describe('the request info of a path', () => {
  it('reads verbs, namespaces, names and subresources as upstream does', () => {
    const cases: readonly (readonly [string, string, object])[] = [
      ['GET', '/api/v1/namespaces', of('list', { resource: 'namespaces' })],
      ['GET', '/api/v1/namespaces/other', of('get', { resource: 'namespaces', namespace: 'other', name: 'other' })],
      ['GET', '/api/v1/namespaces/other/pods', of('list', { resource: 'pods', namespace: 'other' })],
      ['GET', '/api/v1/namespaces/other/pods/foo', of('get', { resource: 'pods', namespace: 'other', name: 'foo' })],
      [
        'PUT',
        '/api/v1/namespaces/other/finalize',
        of('update', { resource: 'namespaces', namespace: 'other', name: 'other', subresource: 'finalize' }),
      ],
      [
        'PUT',
        '/api/v1/namespaces/other/status',
        of('update', { resource: 'namespaces', namespace: 'other', name: 'other', subresource: 'status' }),
      ],
      ['GET', '/api/v1/pods', of('list', { resource: 'pods' })],
      ['GET', '/api/v1/pods?watch=true', of('watch', { resource: 'pods' })],
      ['GET', '/api/v1/pods?watch=false', of('list', { resource: 'pods' })],
      ['GET', '/api/v1/pods?watch', of('watch', { resource: 'pods' })],
      ['GET', '/api/v1/watch/namespaces/other/pods', of('watch', { resource: 'pods', namespace: 'other' })],
      ['GET', '/api/v1/nodes?fieldSelector=metadata.name%3Dn1', of('list', { resource: 'nodes', name: 'n1' })],
      ['GET', '/api/v1/nodes?fieldSelector=metadata.name%3D..', of('list', { resource: 'nodes' })],
      // A name may contain an escaped comma or equals sign. A term inside a value does not count.
      [
        'GET',
        '/api/v1/nodes?fieldSelector=metadata.name%3Da%5C%2Cb%5C%3Dc%5C%5C',
        of('list', { resource: 'nodes', name: 'a,b=c\\' }),
      ],
      ['GET', '/api/v1/nodes?fieldSelector=spec.x%3D%5C%2Cmetadata.name%5C%3Dn1', of('list', { resource: 'nodes' })],
      ['GET', '/api/v1/nodes?fieldSelector=spec.x%3Da%5C%2Cmetadata.name%3Dn1', of('list', { resource: 'nodes' })],
      ['GET', '/api/v1/nodes?fieldSelector=%20metadata.name%3Dn1', of('list', { resource: 'nodes' })],
      ['DELETE', '/api/v1/namespaces/other/pods', of('deletecollection', { resource: 'pods', namespace: 'other' })],
      [
        'POST',
        '/apis/apps/v1/namespaces/x/deployments',
        of('create', { group: 'apps', resource: 'deployments', namespace: 'x' }),
      ],
      [
        'PATCH',
        '/apis/apps/v1/namespaces/x/deployments/d/scale',
        of('patch', { group: 'apps', resource: 'deployments', namespace: 'x', name: 'd', subresource: 'scale' }),
      ],
      [
        'GET',
        '/api/v1/namespaces/x/pods/p/proxy/a/b',
        of('get', { resource: 'pods', namespace: 'x', name: 'p', subresource: 'proxy' }),
      ],
      ['OPTIONS', '/api/v1/pods', of('', { resource: 'pods' })],
      ['GET', '/apis/apps/v1', { verb: 'get' }],
      ['POST', '/healthz', { verb: 'post' }],
      ['GET', '/', { verb: 'get' }],
    ];
    for (const [method, target, expected] of cases)
      assert.deepEqual(info(method, target), expected, `${method} ${target}`);
  });

  it('finds no resource in a path that ends before it', () => {
    assert.equal(parseRequestInfo('GET', '/api/v1/watch', new URLSearchParams()), undefined);
  });

  it('passes the selectors of lists to authorizers, but not those of a watch by path', () => {
    const query = new URLSearchParams('labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dn');
    assert.deepEqual(
      [
        parseRequestInfo('GET', '/api/v1/pods', query)?.fieldSelector,
        parseRequestInfo('GET', '/api/v1/watch/pods', query)?.fieldSelector,
      ],
      ['spec.nodeName=n', undefined],
    );
  });

  it('recognizes long-running requests', () => {
    const isLong = (method: string, target: string): boolean | undefined => {
      const found = parseRequestInfo(method, target.split('?')[0] ?? '', new URLSearchParams(target.split('?')[1]));
      return found === undefined ? undefined : isLongRunning(found);
    };
    assert.deepEqual(
      [
        '/api/v1/pods?watch=1',
        '/api/v1/namespaces/x/pods/p/log',
        '/api/v1/namespaces/x/pods/p/exec',
        '/api/v1/namespaces/x/pods/p',
        '/healthz',
      ].map((target) => isLong('GET', target)),
      [true, true, true, false, false],
    );
  });

  it('ends a proxy path where the forwarded part begins, as the client wrote it', () => {
    const cut = (raw: string): unknown => {
      const path = splitPath(raw);
      const found = parseSplit('GET', path, new URLSearchParams());
      return found === undefined ? undefined : cutPath(path, meaningfulParts(path, found));
    };
    const node = '/api/v1/nodes/n/proxy';
    assert.deepEqual(
      [
        cut(node),
        cut(`${node}/`),
        cut(`${node}/a%2Fb//../c/`),
        cut('/api/v1/%6Eodes/n/prox%79/x'),
        cut('/api/v1/namespaces/a/services/https%3As%3A1/proxy/x/proxy/y'),
        cut('/api/v1/nodes/n'),
        cut('/'),
      ],
      [
        { base: node, rest: '' },
        { base: node, rest: '/' },
        { base: node, rest: '/a%2Fb//../c/' },
        { base: '/api/v1/%6Eodes/n/prox%79', rest: '/x' },
        { base: '/api/v1/namespaces/a/services/https%3As%3A1/proxy', rest: '/x/proxy/y' },
        { base: '/api/v1/nodes/n', rest: '' },
        { base: '', rest: '/' },
      ],
    );
  });

  it('never throws for any path', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.constantFrom('api', 'apis', 'v1', 'namespaces', 'watch', 'proxy', 'pods', ''), fc.string()),
          { maxLength: 9 },
        ),
        fc.string(),
        (parts, query) => {
          const found = parseRequestInfo(
            'GET',
            `/${parts.map(encodeURIComponent).join('/')}`,
            new URLSearchParams(query),
          );
          assert.ok(found === undefined || typeof found.verb === 'string');
        },
      ),
    );
  });
});
