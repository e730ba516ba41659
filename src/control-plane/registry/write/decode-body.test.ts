import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { int32, map, object, string } from '../../../api/schema/schema.ts';
import type { PatchBody } from '../registry.ts';
import { decodeBody } from './decode-body.ts';
import { decodePatched } from './decode-patched.ts';

const context = { fieldManager: '', fieldValidation: 'Warn', warn: () => undefined } as unknown as Parameters<
  typeof decodeBody
>[2];
const widgets = {
  group: 'x.io',
  version: 'v1',
  kind: 'Widget',
  schema: object('Widget', {}),
  readBody: (value: unknown) => ({ value, errors: [], warnings: [] }),
};
const whole = { apiVersion: 'x.io/v1', kind: 'Widget', metadata: { name: 'a' } };

function refusal(value: object): string {
  try {
    decodeBody({ value, duplicates: [] }, widgets, context);
  } catch (error) {
    assert.ok(error instanceof ApiStatusError);
    return `${error.code} ${error.message}`;
  }
  return 'accepted';
}

describe('the body of a custom object', () => {
  it('must have a kind, which is never guessed', () => {
    assert.equal(refusal(whole), 'accepted');
    const unrecognized = '400 the object provided is unrecognized (must be of type Widget): Object';
    assert.equal(refusal({ ...whole, kind: undefined }), `${unrecognized} 'Kind' is missing`);
    assert.equal(refusal({ ...whole, apiVersion: '' }), `${unrecognized} 'apiVersion' is missing`);
  });

  it('must have the kind of the path', () => {
    assert.equal(
      refusal({ ...whole, kind: 'Gadget' }),
      '422 Gadget.x.io "a" is invalid: kind: Invalid value: "Gadget": must be Widget',
    );
  });
});

it('an error about a body or patch of a kind with secret values does not repeat the values', () => {
  const schema = object('Box', { data: map(string), size: int32, kind: string, apiVersion: string });
  const refusalsOf = (hideValues: boolean): string[] => {
    const boxes = { group: 'x.io', version: 'v1', kind: 'Box', schema, hideValues };
    return [{ data: { a: 90210 } }, { data: 'hunter2' }, { size: 90210_000_000 }].flatMap((value) => {
      const patch = { type: 'merge' as const, value, duplicates: [] };
      return [
        () => decodeBody({ value, duplicates: [] }, boxes, context),
        () => decodePatched(value, patch as unknown as PatchBody, { expected: boxes, context }),
      ].map((decode) => {
        try {
          decode();
        } catch (error) {
          return (error as Error).message;
        }
        return 'accepted';
      });
    });
  };
  const tells = (text: string): boolean => /90210|hunter2/.test(text);
  assert.deepEqual(refusalsOf(false).map(tells), [true, true, true, true, true, true]);
  const hidden = refusalsOf(true);
  assert.deepEqual(hidden.map(tells), [false, false, false, false, false, false], hidden.join('\n'));
  assert.ok(!hidden.includes('accepted'));
});
