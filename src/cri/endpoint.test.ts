import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKind } from '../base/errors.ts';
import { parseEndpoint } from './endpoint.ts';

test('a runtime endpoint may be a unix URL or a bare path', () => {
  const endpoints = ['unix:///run/a.sock', 'unix:/run/a.sock', '/run/a.sock'];
  assert.deepEqual(endpoints.map(parseEndpoint), ['/run/a.sock', '/run/a.sock', '/run/a.sock']);
});

test('an endpoint that is no absolute unix path is invalid', () => {
  for (const endpoint of [
    '',
    'run/a.sock',
    'unix://run/a.sock',
    'unix://',
    'tcp://127.0.0.1:1',
    'npipe:////./pipe/x',
  ]) {
    assert.throws(
      () => parseEndpoint(endpoint),
      (error) => isKind(error, 'Invalid'),
      endpoint,
    );
  }
});
