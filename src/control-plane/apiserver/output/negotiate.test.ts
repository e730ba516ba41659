import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { negotiate, prefersProtobuf } from './negotiate.ts';

const plain = { tables: false, messages: true };
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';

test('a Table of a kind without columns is not acceptable, unless another type is acceptable', () => {
  assert.equal(negotiate(table).form.as, 'table');
  assert.throws(
    () => negotiate(table, false, plain),
    (error: unknown) => isApiError(error, 'NotAcceptable'),
  );
  assert.equal(negotiate(`${table},application/json`, false, plain).form.as, 'object');
  assert.equal(negotiate(table.replace('Table', 'PartialObjectMetadata'), false, plain).form.as, 'partial');
});

const protobuf = 'application/vnd.kubernetes.protobuf';

test('clients that prefer protobuf, by order or quality, get protobuf', () => {
  assert.equal(negotiate(`${protobuf},application/json`).encoding, 'protobuf');
  assert.equal(negotiate(`application/json,${protobuf}`).encoding, 'json');
  assert.equal(negotiate(`application/json;q=0.5,${protobuf};q=0.9`).encoding, 'protobuf');
  assert.equal(negotiate(`${protobuf};q=0,*/*`).encoding, 'json');
  assert.equal(negotiate(`${protobuf};stream=watch`).encoding, 'protobuf');
});

test('a kind without a message is returned as JSON if the client accepts that; its metadata can be a message', () => {
  const custom = { tables: true, messages: false };
  assert.equal(negotiate(`${protobuf},application/json`, false, custom).encoding, 'json');
  assert.throws(
    () => negotiate(protobuf, false, custom),
    (error: unknown) => isApiError(error, 'NotAcceptable') && !error.message.includes(protobuf),
  );
  const partial = `${protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
  assert.deepEqual(negotiate(partial, false, custom), {
    encoding: 'protobuf',
    form: { as: 'partial', version: 'v1' },
    pretty: false,
  });
});

test('a Table is never a protobuf message', () => {
  assert.equal(negotiate(`${protobuf};as=Table;g=meta.k8s.io;v=v1,${table}`).encoding, 'json');
  assert.throws(
    () => negotiate(`${protobuf};as=Table;g=meta.k8s.io;v=v1`),
    (error: unknown) => isApiError(error, 'NotAcceptable'),
  );
});

test('errors are protobuf only for clients that prefer it', () => {
  assert.deepEqual(
    [protobuf, `${protobuf},application/json`, `application/json,${protobuf}`, 'text/plain', undefined].map(
      prefersProtobuf,
    ),
    [true, true, false, false, false],
  );
});
