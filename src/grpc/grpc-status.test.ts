import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';
import { errorFromStatus, grpcCodeOf, statusFromError } from './grpc-status.ts';

test('every gRPC code has a kind, and unheard-of codes are internal', () => {
  const kinds = [...Array(18).keys()].slice(1).map((code) => errorFromStatus('Status', { code, details: 'x' }).kind);
  const expected: ErrorKind[] = [
    'Unavailable',
    'Internal',
    'Invalid',
    'Timeout',
    'NotFound',
    'AlreadyExists',
    'Internal',
    'Internal',
    'Conflict',
    'Conflict',
    'Invalid',
    'Unimplemented',
    'Internal',
    'Unavailable',
    'Internal',
    'Internal',
    'Internal',
  ];
  assert.deepEqual(kinds, expected);
});

test('the message of a failed call reads as a Go client prints it', () => {
  assert.equal(
    errorFromStatus('RunPodSandbox', { code: 2, details: 'no CNI' }).message,
    'rpc error: code = Unknown desc = no CNI',
  );
  assert.equal(
    errorFromStatus('Status', { code: 4, details: 'Deadline exceeded after 2s,LB pick: 1s' }).message,
    'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  );
});

test('an unknown code can be left out of the message, another cannot', () => {
  assert.equal(
    errorFromStatus('PullImage', { code: 2, details: 'RegistryUnavailable: x' }, 'bareUnknown').message,
    'RegistryUnavailable: x',
  );
  assert.equal(
    errorFromStatus('PullImage', { code: 5, details: 'x' }, 'bareUnknown').message,
    'rpc error: code = NotFound desc = x',
  );
});

test('each kind survives the way through a gRPC status, except that an abort turns into unavailability', () => {
  const kinds: ErrorKind[] = [
    'NotFound',
    'AlreadyExists',
    'Conflict',
    'Invalid',
    'Unavailable',
    'Timeout',
    'Unimplemented',
    'Internal',
    'Aborted',
  ];
  const back = kinds.map((kind) => errorFromStatus('Status', statusFromError(new KubeletError(kind, 'x'))).kind);
  assert.deepEqual(back, [...kinds.slice(0, -1), 'Unavailable']);
});

test('a status from another server passes through unchanged', () => {
  const error = errorFromStatus('PullImage', { code: 8, details: 'quota' });
  assert.deepEqual(statusFromError(error), { code: 8, details: 'quota' });
});

test('a server that is killed in the middle of an answer is unavailable', () => {
  const cut = { code: 13, details: 'Received RST_STREAM with code 0 (Call ended without gRPC status)' };
  const error = errorFromStatus('Put', cut);
  assert.deepEqual([error.kind, grpcCodeOf(error)], ['Unavailable', 'Unavailable']);
  assert.match(error.message, /^rpc error: code = Unavailable desc = Received RST_STREAM/);
  const mapped = errorFromStatus('Put', { code: 13, details: 'disk' });
  assert.deepEqual([mapped.kind, grpcCodeOf(mapped)], ['Internal', 'Internal']);
});

test('what is no gRPC status is internal and names the operation', () => {
  const error = errorFromStatus('Version', new TypeError('bad'));
  assert.deepEqual([error.kind, error.op, error.message], ['Internal', 'Version', 'Version: bad']);
});
