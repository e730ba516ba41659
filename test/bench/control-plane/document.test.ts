import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replaceSection } from './document.ts';

test('what stands between the marks is replaced, and nothing else', () => {
  const document = 'before\n<!-- numbers:begin -->\nold\n<!-- numbers:end -->\nafter\n';
  assert.equal(replaceSection(document, 'numbers', 'new'), document.replace('old', 'new'));
  assert.throws(() => replaceSection(document, 'letters', 'new'), /no section letters/);
});
