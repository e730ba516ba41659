import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorKind, errorMessage, ignoreNotFound, isKind, KubeletError, unreachable } from './errors.ts';

describe('errors', () => {
  it('carry kind, operation and cause', () => {
    const cause = new Error('ENOENT');
    const error = new KubeletError('NotFound', 'no such pod', { op: 'read pod', cause });
    assert.deepEqual(
      [error.kind, error.message, error.op, error.cause, error.name, error instanceof Error],
      ['NotFound', 'no such pod', 'read pod', cause, 'KubeletError', true],
    );
    assert.equal('cause' in new KubeletError('Internal', 'x'), false);
  });

  it('record a stack, except for missing objects and aborted calls, which are ordinary', () => {
    const frames = (error: Error): number =>
      (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line)).length;
    const limit = Error.stackTraceLimit;
    assert.deepEqual(
      (['NotFound', 'Aborted', 'Internal', 'Timeout'] as const).map((kind) => frames(new KubeletError(kind, 'x')) > 0),
      [false, false, true, true],
    );
    assert.equal(Error.stackTraceLimit, limit);
  });

  it('have a kind and a text whatever was thrown', () => {
    const aborted = AbortSignal.abort().reason as unknown;
    assert.deepEqual(
      [new KubeletError('Timeout', 'x'), aborted, new TypeError('x'), 'text', undefined, null].map(errorKind),
      ['Timeout', 'Aborted', 'Internal', 'Internal', 'Internal', 'Internal'],
    );
    assert.deepEqual([new Error('a'), 'b', 7, undefined].map(errorMessage), ['a', 'b', '7', 'undefined']);
    assert.equal(isKind(new KubeletError('Conflict', 'x'), 'Conflict'), true);
  });

  it('deleting a missing object counts as success, and other errors do not', async () => {
    await ignoreNotFound(Promise.reject(new KubeletError('NotFound', 'x')));
    await assert.rejects(ignoreNotFound(Promise.reject(new KubeletError('Unavailable', 'x'))), (error) =>
      isKind(error, 'Unavailable'),
    );
  });

  it('name an unhandled case', () => {
    assert.throws(() => unreachable({ kind: 'new' } as never), /unhandled case \{"kind":"new"\}/);
  });
});
