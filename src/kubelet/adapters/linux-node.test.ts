import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { maxPids, readIdentity } from './linux-node.ts';

function machine(files: Readonly<Record<string, string>>): ReturnType<typeof readIdentity> {
  const root = mkdtempSync(join(tmpdir(), 'kts-identity-'));
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return readIdentity(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

describe('the identity of this machine', () => {
  it('is read where upstream reads it', () => {
    assert.deepEqual(
      machine({
        '/etc/machine-id': 'abc\n',
        '/sys/class/dmi/id/product_uuid': 'UUID\n',
        '/proc/sys/kernel/random/boot_id': 'boot\n',
        '/proc/stat': 'cpu 1\nbtime 1700000000\n',
        '/etc/os-release': 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
      }),
      {
        machineId: 'abc',
        systemUuid: 'UUID',
        bootId: 'boot',
        osImage: 'Debian GNU/Linux 12 (bookworm)',
        bootedAtMs: 1_700_000_000_000,
      },
    );
  });

  it('has fallback files, and is empty where there is none', () => {
    assert.deepEqual(
      machine({
        '/var/lib/dbus/machine-id': 'dbus',
        '/proc/device-tree/vm,uuid': 'vm\0',
        '/usr/lib/os-release': 'ID=x',
      }),
      { machineId: 'dbus', systemUuid: 'vm', bootId: '', osImage: 'Linux', bootedAtMs: undefined },
    );
    assert.deepEqual(machine({}), {
      machineId: '',
      systemUuid: '',
      bootId: '',
      osImage: 'Unknown',
      bootedAtMs: undefined,
    });
  });
});

describe('how many processes the kernel allows', () => {
  it('is the smaller of its two limits, and unknown where it says neither', () => {
    const proc = mkdtempSync(join(tmpdir(), 'kts-pids-'));
    assert.deepEqual(maxPids(proc), {});
    mkdirSync(join(proc, 'sys/kernel'), { recursive: true });
    writeFileSync(join(proc, 'sys/kernel/pid_max'), '32768\n');
    assert.deepEqual(maxPids(proc), { maxPids: 32_768 });
    writeFileSync(join(proc, 'sys/kernel/threads-max'), '20000\n');
    assert.deepEqual(maxPids(proc), { maxPids: 20_000 });
    rmSync(proc, { recursive: true });
  });
});
