import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { negotiate } from './negotiate.ts';

const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';

test('a Table of what has no columns is not acceptable, unless another type is', () => {
  assert.equal(negotiate(table).form.as, 'table');
  assert.throws(
    () => negotiate(table, false, false),
    (error: unknown) => isApiError(error, 'NotAcceptable'),
  );
  assert.equal(negotiate(`${table},application/json`, false, false).form.as, 'object');
  assert.equal(negotiate(table.replace('Table', 'PartialObjectMetadata'), false, false).form.as, 'partial');
});
