import assert from 'node:assert/strict';
import test from 'node:test';
import { podTemplateResource } from '../core/pod-template.ts';
import { ipAddressResource } from './ip-address.ts';

test('tables of addresses and of pod templates have no age, as upstream', () => {
  assert.deepEqual([ipAddressResource.hasNoAge, podTemplateResource.hasNoAge], [true, true]);
});
