import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSchedulerFlags } from './scheduler-flags.ts';
import type { SchedulerServing } from './scheduler-flags.ts';

function servingOf(...args: string[]): SchedulerServing | undefined | readonly string[] {
  const parsed = parseSchedulerFlags(args);
  if (parsed.kind === 'error') return parsed.errors;
  assert.ok(parsed.kind === 'run');
  return parsed.options.serving;
}

test('the secure port and the public paths are upstream’s', () => {
  assert.deepEqual(servingOf(), {
    port: 10_259,
    bindAddress: '0.0.0.0',
    openPaths: ['/healthz', '/readyz', '/livez'],
  });
  assert.equal(servingOf('--secure-port=0'), undefined);
  assert.deepEqual(
    servingOf(
      ...['--secure-port=9', '--bind-address=::1', '--client-ca-file=ca', '--authorization-always-allow-paths='],
      ...['--tls-cert-file=a', '--tls-private-key-file=b'],
    ),
    {
      port: 9,
      bindAddress: '::1',
      openPaths: [],
      clientCaFile: 'ca',
      pair: { certificateFile: 'a', keyFile: 'b' },
    },
  );
});

test('a port that is none and half a pair are refused', () => {
  assert.deepEqual(servingOf('--secure-port=70000', '--tls-cert-file=a'), [
    '--secure-port: "70000" is not a port from 0 to 65535',
    '--tls-cert-file and --tls-private-key-file are given together or not at all',
  ]);
});
