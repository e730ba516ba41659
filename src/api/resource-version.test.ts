import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isLaterVersion } from './resource-version.ts';

it('versions are compared as whole numbers, beyond the precision of JavaScript', () => {
  assert.equal(isLaterVersion('9007199254740993', '9007199254740992'), true);
  assert.equal(isLaterVersion('9007199254740992', '9007199254740993'), false);
  assert.equal(isLaterVersion('10', '9'), true);
  assert.equal(isLaterVersion('9', '10'), false);
  assert.equal(isLaterVersion('9', '9'), false);
});
