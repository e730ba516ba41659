import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import { mayHoldSecret } from './secret-variables.ts';

test('a text may hold a secret when a variable in it does, by itself, by another one, or by an envFrom', () => {
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
