import assert from 'node:assert/strict';
import test from 'node:test';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const configMaps = new RulesFixture<ConfigMap>('v1', 'ConfigMap', { data: { a: '1' } });
const secrets = new RulesFixture<Secret>('v1', 'Secret', { data: { a: 'MQ==' } });
const frozen = 'Forbidden: field is immutable when `immutable` is set';

test('a config map that was made immutable stays what it is', () => {
  assert.deepEqual(
    [
      configMaps.refusals(),
      configMaps.updateRefusals({ data: { b: '2' } }),
      configMaps.updateRefusals({ immutable: true }),
    ],
    [[], [], []],
  );
  const before = { immutable: true };
  assert.deepEqual(configMaps.updateRefusals({ immutable: undefined }, before), [`immutable: ${frozen}`]);
  assert.deepEqual(configMaps.updateRefusals({ data: { a: '2' }, binaryData: { b: 'MQ==' } }, before), [
    `data: ${frozen}`,
    `binaryData: ${frozen}`,
  ]);
  assert.deepEqual(configMaps.updateRefusals({ data: { a: '1', b: '' } }, before), [`data: ${frozen}`]);
  assert.deepEqual(configMaps.updateRefusals({ 'metadata.labels': { x: 'y' } }, before), []);
});

test('a secret is opaque unless it says otherwise, and keeps its type', () => {
  assert.deepEqual(
    [secrets.created().type, secrets.created({ stringData: { a: 'x', b: 'y' } }).data],
    ['Opaque', { a: 'eA==', b: 'eQ==' }],
  );
  assert.deepEqual(secrets.updateRefusals({ type: 'example.com/x' }), [
    'type: Invalid value: "example.com/x": field is immutable',
  ]);
  assert.deepEqual(secrets.updateRefusals({ data: { a: 'Mg==' } }, { immutable: true }), [`data: ${frozen}`]);
  assert.deepEqual(secrets.refusals({ type: 'kubernetes.io/tls' }), [
    'data[tls.crt]: Required value',
    'data[tls.key]: Required value',
  ]);
  assert.equal(secrets.definition.hideValues, true);
});

test('both are shown with how much they hold, secrets are found by type', () => {
  assert.deepEqual(
    [configMaps.cells({ binaryData: { b: 'MQ==' } }), configMaps.cells({ data: undefined })],
    [{ Data: 2 }, { Data: 0 }],
  );
  assert.deepEqual(secrets.cells(), { Type: 'Opaque', Data: 1 });
  assert.deepEqual(secrets.definition.selectableFields?.(secrets.created()), { type: 'Opaque' });
});
