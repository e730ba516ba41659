import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { mismatch, selectVolume } from './match-volume.ts';
import { buildClaim, buildVolume } from './testing/builders.ts';

const name = (
  ...[claim, volumes, delayed = false]: [
    Parameters<typeof selectVolume>[0],
    Parameters<typeof selectVolume>[1],
    boolean?,
  ]
): string | undefined => selectVolume(claim, volumes, delayed)?.metadata.name;

it('chooses the smallest volume that is large enough and has the requested access modes', () => {
  const volumes = [
    buildVolume('big', { size: '100Gi' }),
    buildVolume('fits', { size: '10Gi' }),
    buildVolume('small', { size: '1Gi' }),
    buildVolume('shared', { size: '5Gi', modes: ['ReadWriteOnce', 'ReadWriteMany'] }),
  ];
  assert.equal(name(buildClaim({ size: '5Gi' }), volumes), 'fits');
  assert.equal(name(buildClaim({ size: '5Gi', modes: ['ReadWriteMany'] }), volumes), 'shared');
  assert.equal(name(buildClaim({ size: '500Gi' }), volumes), undefined);
  assert.equal(name(buildClaim({ size: '500Mi' }), volumes), 'small');
});

it('checks class, mode, selector, phase and deletion', () => {
  const claim = buildClaim({ spec: { storageClassName: 'fast', selector: { matchLabels: { disk: 'ssd' } } } });
  const right = { spec: { storageClassName: 'fast' }, labels: { disk: 'ssd' } };
  assert.equal(name(claim, [buildVolume('v', right)]), 'v');
  for (const wrong of [
    { spec: {} },
    { labels: { disk: 'hdd' } },
    { phase: 'Released' as const },
    { spec: { storageClassName: 'fast', volumeMode: 'Block' as const } },
    { leaving: true },
  ]) {
    assert.equal(name(claim, [buildVolume('v', { ...right, ...wrong })]), undefined, JSON.stringify(wrong));
  }
});

it('a volume reserved for the claim is preferred, also with delayed binding; one reserved for another claim is not used', () => {
  const claim = buildClaim({});
  const kept = buildVolume('kept', { size: '50Gi', claimRef: { namespace: 'default', name: 'data' } });
  const others = buildVolume('others', { claimRef: { namespace: 'default', name: 'other' } });
  const older = buildVolume('older', { claimRef: { namespace: 'default', name: 'data', uid: 'an older one' } });
  assert.equal(name(claim, [buildVolume('free'), kept, others, older]), 'kept');
  assert.equal(name(claim, [buildVolume('free'), kept], true), 'kept');
  assert.equal(name(claim, [buildVolume('free'), others, older], true), undefined);
  assert.equal(name(claim, [others, older]), undefined);
});

it('does not depend on the order in which volumes are known', () => {
  const volume = fc.record({ size: fc.constantFrom('1Gi', '2Gi', '3Gi'), shared: fc.boolean() });
  fc.assert(
    fc.property(fc.array(volume, { maxLength: 6 }), (shapes) => {
      const volumes = shapes.map(({ size, shared }, index) =>
        buildVolume(`v${index}`, { size, ...(shared && { modes: ['ReadWriteOnce', 'ReadOnlyMany'] }) }),
      );
      assert.equal(name(buildClaim({ size: '2Gi' }), volumes), name(buildClaim({ size: '2Gi' }), volumes.toReversed()));
    }),
  );
});

it('reports why a claim cannot be bound to the volume that it names', () => {
  const cases = [
    [buildVolume('v', { size: '1Mi' }), 'requested PV is too small'],
    [buildVolume('v', { spec: { storageClassName: 'x' } }), 'storageClassName does not match'],
    [buildVolume('v', { spec: { volumeMode: 'Block' } }), 'incompatible volumeMode'],
    [buildVolume('v', { modes: ['ReadOnlyMany'] }), 'incompatible accessMode'],
    [buildVolume('v', { leaving: true }), 'the volume is marked for deletion "v"'],
    [buildVolume('v'), undefined],
  ] as const;
  assert.deepEqual(
    cases.map(([volume]) => mismatch(volume, buildClaim({}))),
    cases.map(([, why]) => why),
  );
});
