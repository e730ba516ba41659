import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import { mayHoldSecret } from './secret-variables.ts';

test('a text may contain a secret when a variable in it does, directly, through another one, or through an envFrom', () => {
  const secret = { name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } };
  const of = (text: string, fields: Partial<Container>): boolean =>
    mayHoldSecret({ name: 'c', image: 'x', ...fields }, text);
  const env = [
    secret,
    { name: 'PLAIN', value: 'a$(OTHER)' },
    { name: 'BY', value: 'x$(S)' },
    { name: 'LOOP', value: '$(LOOP)' },
  ];
  assert.deepEqual(
    ['$(S)', 'a/$(BY)', '$(PLAIN)', '$$(S)', 'S', '$(LOOP)', '$(ELSE)'].map((text) => of(text, { env })),
    [true, true, false, false, false, false, false],
  );
  assert.deepEqual(
    [
      of('$(ELSE)', { env, envFrom: [{ secretRef: { name: 's' } }] }),
      of('$(ELSE)', { env, envFrom: [{ configMapRef: { name: 'c' } }] }),
    ],
    [true, false],
  );
});

test('variables that refer to each other twice are each checked once', () => {
  const env = Array.from({ length: 200 }, (_, index) => ({ name: `V${index + 1}`, value: `$(V${index})$(V${index})` }));
  assert.equal(mayHoldSecret({ name: 'c', image: 'x', env }, '$(V200)'), false);
  assert.equal(
    mayHoldSecret(
      { name: 'c', image: 'x', env: [...env, { name: 'V0', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
      '$(V200)',
    ),
    true,
  );
});
