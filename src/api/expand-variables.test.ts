import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExpandedSize, expandVariables } from './expand-variables.ts';

test('a single $ and an unclosed reference stay, and $$ becomes $', () => {
  const expand = (text: string): string =>
    expandVariables(text, (name) => (name === 'A' ? 'v$$' : undefined), new ExpandedSize());
  assert.deepEqual(['$x$$$(', '$(A)$(B)', '$$(A)', '$(A', '$(A$$B$(', '$', ''].map(expand), [
    '$x$$(',
    'v$$$(B)',
    '$(A)',
    '$(A',
    '$(A$B$(',
    '$',
    '',
  ]);
});
