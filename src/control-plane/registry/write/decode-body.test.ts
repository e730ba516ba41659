import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { object } from '../../../api/schema/schema.ts';
import { decodeBody } from './decode-body.ts';

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
  it('says what it is: its kind is not guessed', () => {
    assert.equal(refusal(whole), 'accepted');
    const unrecognized = '400 the object provided is unrecognized (must be of type Widget): Object';
    assert.equal(refusal({ ...whole, kind: undefined }), `${unrecognized} 'Kind' is missing`);
    assert.equal(refusal({ ...whole, apiVersion: '' }), `${unrecognized} 'apiVersion' is missing`);
  });

  it('is not of another kind', () => {
    assert.equal(
      refusal({ ...whole, kind: 'Gadget' }),
      '422 Gadget.x.io "a" is invalid: kind: Invalid value: "Gadget": must be Widget',
    );
  });
});
