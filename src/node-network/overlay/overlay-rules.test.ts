import assert from 'node:assert/strict';
import { it } from 'node:test';
import { overlayRules } from './overlay-rules.ts';

const settings = { network: '10.244.0.0/16', ownRange: '10.244.1.0/24', serviceCidr: undefined };

it('pods keep their addresses among each other, and have the address of the node elsewhere', () => {
  const { nat } = overlayRules('KT', settings);
  assert.deepEqual(nat.jumps, [{ from: 'POSTROUTING', to: 'KT-POSTROUTING' }]);
  assert.deepEqual(
    [...nat.chains],
    [
      [
        'KT-POSTROUTING',
        [
          '-s 10.244.0.0/16 -d 10.244.0.0/16 -j RETURN',
          '-s 10.244.0.0/16 ! -d 224.0.0.0/4 -j MASQUERADE --random-fully',
          '! -s 10.244.0.0/16 -d 10.244.1.0/24 -j RETURN',
          '! -s 10.244.0.0/16 -d 10.244.0.0/16 -j MASQUERADE --random-fully',
        ],
      ],
    ],
  );
});

it('packets of pods are forwarded, but for those to services, which service routing may refuse', () => {
  const chains = (serviceCidr?: string) => {
    const { filter } = overlayRules('KT', { ...settings, serviceCidr });
    assert.deepEqual(filter.jumps, [{ from: 'FORWARD', to: 'KT-ADMIT' }]);
    return filter.chains.get('KT-ADMIT');
  };
  const admitted = ['-s 10.244.0.0/16 -j ACCEPT', '-d 10.244.0.0/16 -j ACCEPT'];
  assert.deepEqual(chains(), admitted);
  assert.deepEqual(chains('10.96.0.0/12'), ['-d 10.96.0.0/12 -j RETURN', ...admitted]);
});
