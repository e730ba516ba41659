import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { forwardIpv6, readKernelSettings, restoreKernelSettings, selectRestores } from './kernel-settings.ts';

function settings(t: TestContext, values: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'kts-settings-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, value] of Object.entries(values)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), `${value}\n`);
  }
  return folder;
}

test('settings that an instance changed are restored; others, and those that were changed again, are kept', (t) => {
  const before = settings(t, { 'kernel/panic': '0', 'vm/overcommit_memory': '0', 'net/ipv4/ip_forward': '1' });
  const noted = readKernelSettings(before);
  const now = settings(t, { 'kernel/panic': '10', 'vm/overcommit_memory': '2', 'net/ipv4/ip_forward': '1' });
  assert.deepEqual(restoreKernelSettings(noted, now), []);
  assert.equal(readFileSync(join(now, 'kernel/panic'), 'utf8')[0], '0');
  assert.deepEqual(
    ['vm/overcommit_memory', 'net/ipv4/ip_forward'].map((name) => readFileSync(join(now, name), 'utf8')),
    ['2\n', '1\n'],
  );
});

test('a setting that no instance recorded is never written', () => {
  assert.deepEqual(selectRestores({ 'kernel/hostname': 'a' }, { 'kernel/hostname': 'b', 'kernel/panic': '10' }), {});
  assert.deepEqual(selectRestores({ 'kernel/panic': '0' }, {}), {});
});

test('a machine that forwards IPv6 keeps learning its routes from routers, until the setting is restored', (t) => {
  const device = (name: string): string => `net/ipv6/conf/${name}/accept_ra`;
  const folder = settings(t, { 'net/ipv6/conf/all/forwarding': '0', [device('eth0')]: '1', [device('eth1')]: '0' });
  const read = (): string[] =>
    ['net/ipv6/conf/all/forwarding', device('eth0'), device('eth1')].map((name) =>
      readFileSync(join(folder, name), 'utf8').trim(),
    );
  const before = readKernelSettings(folder);
  forwardIpv6(folder);
  assert.deepEqual(read(), ['1', '2', '0']);
  assert.deepEqual(restoreKernelSettings(before, folder), []);
  assert.deepEqual(read(), ['0', '1', '0']);
});
