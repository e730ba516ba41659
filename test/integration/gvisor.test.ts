// Pods in gVisor's sandboxes, which `up --runtime-handler gvisor=/usr/bin/runsc` sets up. gVisor's network needs kernel
// features that most containers lack; the virtual machine of `npm run test:vm` has them.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { container, pod, shell, thenSleep } from './support/manifests.ts';
import { missingMeans } from './support/storage-servers.ts';
import { waitUntil } from './support/patience.ts';
import { agentFixture } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const MEBIBYTE = 1024 * 1024;
const isUnified = existsSync('/sys/fs/cgroup/cgroup.controllers');
const missing =
  (await missingMeans([], ['runsc', 'systemctl'])) ||
  (isUnified ? false : 'this machine has no cgroup v2; npm run test:vm has it');

const runtimeClass = {
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: 'gvisor' },
  handler: 'gvisor',
  overhead: { podFixed: { memory: '96Mi', cpu: '50m' } },
};

describe('a pod with the RuntimeClass gvisor', { skip: missing }, () => {
  const fixture = agentFixture({ name: 'gvisor', handlers: { gvisor: '/usr/bin/runsc' } });
  const sandboxed = (name: string, spec: Record<string, unknown> = {}) =>
    pod(name, { runtimeClassName: 'gvisor', ...spec });

  test("sees gVisor's kernel and not the machine's, is reached, and its containers share the sandbox", async () => {
    const { agent } = fixture;
    const limits = { memory: '64Mi' };
    const web = container('main', {
      command: thenSleep('mkdir -p /www; echo served > /www/index.html; httpd -p 8080 -h /www'),
      readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 2, timeoutSeconds: 20 },
      resources: { limits },
    });
    const side = container('side', { command: thenSleep('echo beside'), resources: { limits } });
    agent.writeManifest('gvisor-class', runtimeClass);
    const running = await agent.run(sandboxed('dmesg', { containers: [web, side] }));
    const log = await agent.inside('dmesg', 'dmesg');
    assert.match(log, /Starting gVisor/);
    assert.notEqual(await agent.inside('dmesg', 'cat /proc/version'), readFileSync('/proc/version', 'utf8').trim());
    assert.equal(await agent.inside('dmesg', 'wget -q -O - http://127.0.0.1:8080/', 'side'), 'served');
    assert.ok(await waitUntil(() => agent.output('dmesg', 'side') === 'beside', 10_000));
    // Limits of both containers and the overhead of the class.
    assert.deepEqual(running.spec.overhead, runtimeClass.overhead.podFixed);
    const group = fixture.containerd.cgroupPath(join('kubepods/burstable', `pod${running.metadata.uid}`));
    const most = Number(readFileSync(join('/sys/fs/cgroup', group, 'memory.max'), 'utf8'));
    assert.equal(most, (64 + 64 + 96) * MEBIBYTE);
    await agent.remove('dmesg');
  });

  test('has its exit code, and is started again', async () => {
    const { agent } = fixture;
    agent.writeManifest('gvisor-class', runtimeClass);
    agent.writeManifest('fails', sandboxed('fails', { containers: [container('main', { command: shell('exit 3') })] }));
    const again = await agent.waitFor('fails', 'restarted', (each) => containerOf(each).restartCount > 0);
    assert.equal(containerOf(again).lastState?.terminated?.exitCode, 3);
    await agent.remove('fails');
  });

  test('lives on while the agent is away', async () => {
    const { agent } = fixture;
    agent.writeManifest('gvisor-class', runtimeClass);
    const before = await agent.run(sandboxed('stays'));
    await agent.restart('SIGKILL');
    const now = await agent.ready('stays');
    assert.deepEqual([containerId(now), containerOf(now).restartCount], [containerId(before), 0]);
    await agent.remove('stays');
  });
});
