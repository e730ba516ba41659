import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { withControlPlaneTables } from './docs-control-plane.ts';

const root = path.join(import.meta.dirname, '..');
const rendered = (name: string): string =>
  withControlPlaneTables(`before\n<!-- ${name}:begin -->\nold\n<!-- ${name}:end -->\nafter\n`, root);

test('a table is put between its marks, and the rest stays', () => {
  const text = rendered('flags');
  assert.match(
    text,
    /^before\n<!-- flags:begin -->\n\| Flag \| Default \| Meaning \|\n\|---\|---\|---\|\n\| `--data-dir` \|[^]*\n<!-- flags:end -->\nafter\n$/,
  );
  assert.doesNotMatch(text, /\nold\n/);
  assert.equal(withControlPlaneTables(text, root), text);
});

test('kinds show their subresources and verbs, those in no namespace have a star', () => {
  const text = rendered('kinds');
  assert.match(text, /\| apps\/v1 \| Deployment \| `status`, `scale` \| all \|/);
  assert.match(text, /\| v1 \| Node \* \|/);
  assert.match(text, /\| TokenReview \* \| {2}\| create \|/);
});

test('controllers, admission plugins and scheduler plugins are found in their files', () => {
  assert.match(
    rendered('controllers'),
    /\| `deployment-controller` \| `deployment-controller` \| `src\/control-plane\/controllers\/deployment\/deployment-controller\.ts` \|/,
  );
  assert.match(
    rendered('admission-plugins'),
    /\| NodeRestriction \| on \| `src\/control-plane\/admission\/node-restriction\.ts` \|/,
  );
  assert.match(
    rendered('scheduler-plugins'),
    /\| NodeName \| filter \| {2}\| `src\/control-plane\/scheduler\/plugins\/node-name\.ts` \|/,
  );
  for (const name of ['controllers', 'admission-plugins', 'scheduler-plugins'])
    assert.doesNotMatch(rendered(name), /``|no file of this plugin|control-plane\/cmd`|scheduler\/`/);
});
