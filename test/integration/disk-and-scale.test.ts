// A disk that is full, and many pods, all at once.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand, tryCommand } from '../../src/up/commands.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { TestAgent } from './support/agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import { configMap, container, pod, thenSleep } from './support/manifests.ts';
import { containerId, containerOf, isReady } from './support/watch.ts';

let containerd: TestContainerd;

before(async () => {
  containerd = await startContainerd({ name: 'disk' });
});
after(() => containerd?.stop());

/** A file system that is small enough for a test to fill it. */
async function smallDisk(
  sizeMib: number,
): Promise<{ path: string; fill: () => void; free: () => void; remove: () => Promise<void> }> {
  const path = mkdtempSync(join(tmpdir(), 'kts-small-'));
  await runCommand(['mount', '-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'kts-small', path]);
  const ballast = join(path, 'ballast');
  return {
    path,
    fill: () => {
      for (const bytes of [1 << 20, 4096, 1]) {
        try {
          for (;;) writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' });
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
        }
      }
    },
    free: () => rmSync(ballast, { force: true }),
    remove: async () => {
      // The agent's root directory stays a mount when it leaves.
      await tryCommand(['umount', join(path, 'root')]);
      const { code, stderr } = await tryCommand(['umount', path]);
      if (code !== 0) await tryCommand(['umount', '-l', path]);
      rmSync(path, { recursive: true, force: true });
      assert.equal(code, 0, `something of the agent's folder is still in use: ${stderr}`);
    },
  };
}

test('a full disk stops no running pod; the agent reports it, survives restarts, and continues when there is space', async () => {
  const disk = await smallDisk(16);
  const rootDir = join(disk.path, 'root');
  mkdirSync(rootDir);
  let agent: TestAgent | undefined;
  try {
    agent = await TestAgent.start(containerd, { rootDir, podLogsDir: join(disk.path, 'logs') });
    const chatty = container('main', { command: thenSleep('while :; do echo a line of words; sleep 0.1; done &') });
    const before = await agent.run(pod('lasting', { containers: [chatty] }));
    agent.writeManifest('settings', configMap('settings', { key: 'old' }));
    const volumes = [{ name: 'v', configMap: { name: 'settings' } }];
    await agent.run(
      pod('mapped', { volumes, containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })] }),
    );
    disk.fill();
    // Each of these writes: a volume, a pod's folders, the state files.
    agent.writeManifest('settings', configMap('settings', { key: 'new' }));
    agent.writeManifest('late', pod('late'));
    const { blockers } = await agent.explained('late', 'that the disk is full', (now) =>
      now.blockers.some((blocker) => /no space left|ENOSPC/i.test(JSON.stringify(blocker))),
    );
    assert.ok(blockers.length > 0);
    assert.ok(isReady(agent.pod('lasting')) && isReady(agent.pod('mapped')));
    await agent.restart('SIGKILL');
    assert.equal(containerId(await agent.ready('lasting')), containerId(before));
    await agent.restart('SIGTERM');
    assert.equal(containerId(await agent.ready('lasting')), containerId(before));
    assert.equal(containerOf(await agent.ready('mapped')).restartCount, 0);
    disk.free();
    await agent.ready('late', 60_000);
    assert.ok(
      await waitUntil(async () => (await agent?.inside('mapped', 'cat /v/key')) === 'new', 90_000, 200),
      'the volume was not brought up to date',
    );
  } finally {
    disk.free();
    try {
      await agent?.stop();
    } finally {
      await disk.remove();
    }
  }
});

/**
 * Several times the number of pods that the agent and containerd process concurrently; no part of either depends on a
 * larger number. What depends on the total number of pods is the agent's own, and the simulation tests it with all 110
 * (F47, F48). A pod costs containerd, its shim, runc and CNI a third of a second of processor time.
 */
const MANY = 50;

test('many pods made and removed at once: all ready, all gone, nothing left', async () => {
  const agent = await TestAgent.start(containerd);
  try {
    const names = Array.from({ length: MANY }, (_, index) => `many-${index}`);
    const startMs = performance.now();
    for (const name of names) agent.writeManifest(name, pod(name, { terminationGracePeriodSeconds: 1 }));
    await Promise.all(names.map((name) => agent.ready(name, 120_000)));
    const readyMs = performance.now() - startMs;
    assert.equal(
      new Set((await agent.pods()).map((each) => each.status?.podIP)).size,
      MANY,
      'two pods have one address',
    );
    const removeMs = performance.now();
    await agent.clear(120_000);
    const goneMs = performance.now() - removeMs;
    await agent.assertNoLeftovers();
    console.log(
      `${MANY} pods: all ready after ${(readyMs / 1000).toFixed(1)} s, all gone after ${(goneMs / 1000).toFixed(1)} s`,
    );
    assert.ok(
      agent.watch.history.every(({ pod: seen }) => containerOf(seen).restartCount === 0),
      'a container was restarted',
    );
  } finally {
    await agent.stop();
  }
});
