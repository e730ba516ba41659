import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widgets } from '../../registry/testing/registry-fixture.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { parseRequestInfo } from './request-info.ts';
import { routeOf } from './route.ts';
import type { ServedResource } from './served-resource.ts';
import { splitPath } from './split-path.ts';

const verbs = ['create', 'delete', 'get', 'list', 'watch'];
const builtIn = {
  definition: widgets as unknown as ResourceDefinition,
  verbs,
  announcedVerbs: verbs,
  subresources: new Map([
    ['status', { kind: 'object', name: 'status', verbs: ['get'], responseKind: widgets.type }],
  ]) as ServedResource['subresources'],
};
const readBody = (): never => assert.fail('is not called');
const custom: ServedResource = { ...builtIn, definition: { ...builtIn.definition, readBody } };

function verbOf(method: string, rest: string, resource: ServedResource): string {
  const [path = '', query] = `/apis/test.io/v1${rest}`.split('?');
  const info = parseRequestInfo(method, splitPath(path), new URLSearchParams(query));
  assert.ok(info);
  const route = routeOf(method, info, resource);
  return route.kind === 'verb' ? route.verb : route.kind;
}

test('HEAD reads custom objects as GET does, and built-in ones not at all', () => {
  for (const [path, verb] of [
    ['/widgets', 'list'],
    ['/namespaces/a/widgets', 'list'],
    ['/namespaces/a/widgets/x', 'get'],
    ['/namespaces/a/widgets/x/status', 'get'],
    ['/namespaces/a/widgets/x/none', 'notFound'],
  ] as const) {
    assert.equal(verbOf('GET', path, custom), verb);
    assert.equal(verbOf('HEAD', path, custom), verb, path);
    assert.equal(verbOf('GET', path, builtIn), verb);
    assert.equal(verbOf('HEAD', path, builtIn), verb === 'notFound' ? verb : 'methodNotAllowed', path);
  }
});

test('HEAD does not watch', () => {
  assert.equal(verbOf('GET', '/widgets?watch=1', custom), 'watch');
  assert.equal(verbOf('HEAD', '/widgets?watch=1', custom), 'methodNotAllowed');
  assert.equal(verbOf('HEAD', '/watch/widgets', custom), 'methodNotAllowed');
});

test('paths of custom kinds without a handler get the answers of their handler in upstream', () => {
  for (const [method, path, kind] of [
    ['PUT', '/namespaces/default/widgets', 'nameRequired'],
    ['PATCH', '/namespaces/default/widgets', 'nameRequired'],
    ['POST', '/widgets', 'pageNotFound'],
    ['DELETE', '/widgets', 'pageNotFound'],
    ['GET', '/widgets/one', 'pageNotFound'],
  ] as const)
    assert.equal(verbOf(method, path, custom), kind, `${method} ${path}`);
});
