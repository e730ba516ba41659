// The machine shuts down: announced by the real systemd-logind on its own bus, and by SIGTERM to the agent.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type { Pod } from '../../src/api/core/pod.ts';
import { PrivateLogind } from '../../src/kubelet/adapters/logind/testing/private-logind.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { podName, TestAgent } from './support/agent.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import { container, pod } from './support/manifests.ts';

const run = promisify(execFile);
const logind = new PrivateLogind();
let containerd: TestContainerd;
let agent: TestAgent;
const args: string[] = [];
/** logind waits 5 s by default; its configuration on this machine is not changed. */
const config = { shutdownGracePeriod: '5s', shutdownGracePeriodCriticalPods: '2s' };

before(async () => {
  await logind.start();
  containerd = await startContainerd({ name: 'node-shutdown' });
  const env = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${logind.socket}` };
  agent = await TestAgent.start(containerd, { config, args, env });
});
after(async () => {
  try {
    await agent?.stop();
  } finally {
    await containerd?.stop();
    await logind.end();
  }
});

const isDown = (): boolean => logind.started.includes('poweroff.target');
const critical = { priorityClassName: 'system-node-critical' };
const verdictOf = ({ status }: Pod): unknown[] => [status?.phase, status?.reason, status?.message];
const TERMINATED = ['Failed', 'Terminated', 'Pod was terminated in response to imminent node shutdown.'];

async function runningPods(): Promise<Set<string | undefined>> {
  const { containers } = await containerd.cri.runtime.listContainers({});
  return new Set(containers.filter(({ state }) => state === 1).map(({ labels }) => labels['io.kubernetes.pod.name']));
}

test('logind waits until the pods have ended, ordinary ones before critical ones, and new pods are rejected meanwhile', async () => {
  // As process 1, a process without a handler ignores SIGTERM: it is killed at the end of its grace period.
  const stubborn = (name: string, rest: Record<string, unknown> = {}) =>
    pod(name, {
      terminationGracePeriodSeconds: 1,
      containers: [container('main', { command: ['sleep', '2147483647'] })],
      ...rest,
    });
  await Promise.all([agent.run(stubborn('web')), agent.run(stubborn('dns', critical))]);
  let orderly = true;
  const watching = waitUntil(async () => {
    // This is read first: containers may end, and the machine shut down, while the runtime answers.
    const wasDown = isDown();
    const running = await runningPods();
    if (!running.has(podName('dns')) && running.has(podName('web'))) orderly = false;
    if (wasDown && running.size > 0) orderly = false;
    return wasDown;
  }, 20_000);
  await logind.shutDown();
  agent.writeManifest('late', pod('late', {}));
  const late = await agent.waitFor('late', 'rejected', ({ status }) => status?.phase === 'Failed');
  assert.deepEqual(verdictOf(late), [
    'Failed',
    'NodeShutdown',
    'Pod was rejected: Pod was rejected as the node is shutting down.',
  ]);
  assert.ok(await watching, 'the machine goes down in the end');
  assert.ok(orderly, 'not before its pods, and in order');
  assert.equal((await runningPods()).size, 0);
  for (const name of ['web', 'dns']) {
    // The watch of this test may be behind the agent.
    const ended = await agent.phase(name, 'Failed');
    assert.deepEqual(verdictOf(ended), TERMINATED);
    const condition = ended.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
    assert.deepEqual([condition?.status, condition?.reason], ['True', 'TerminationByKubelet']);
  }
  const state = JSON.parse(readFileSync(join(agent.rootDir, 'graceful_node_shutdown_state'), 'utf8')) as {
    startTime: string;
    endTime: string;
  };
  assert.ok(Date.parse(state.startTime) > 0 && Date.parse(state.endTime) > Date.parse(state.startTime));
  const { stdout: metrics } = await run('curl', ['-s', '--unix-socket', agent.socket, 'http://agent/metrics']);
  assert.match(metrics, /^kubelet_graceful_shutdown_end_time_seconds [1-9]\d{9}$/m);
});

test('static pods start again when the shutdown is cancelled', async () => {
  logind.cancel();
  await Promise.all(['web', 'dns'].map((name) => agent.ready(name)));
  await agent.remove('web', 'dns', 'late');
});

test('an agent that is killed in the middle of a shutdown ends its pods when it starts again', async () => {
  logind.started.length = 0;
  await agent.run(pod('survivor', { terminationGracePeriodSeconds: 1 }));
  await agent.kill9();
  await logind.shutDown();
  assert.ok(await waitUntil(isDown, 10_000), 'the lock ended with the agent');
  assert.ok((await runningPods()).has(podName('survivor')));
  await agent.start();
  await agent.waitFor('survivor', 'ended', ({ status }) => status?.reason === 'Terminated');
  assert.ok(await waitUntil(async () => (await runningPods()).size === 0, 10_000));
  logind.cancel();
  await agent.ready('survivor');
  await agent.remove('survivor');
});

test('with --shutdown-on-sigterm the agent ends its pods before it ends, and the next one starts them again', async () => {
  args.push('--shutdown-on-sigterm');
  await agent.restart();
  await Promise.all([
    agent.run(pod('web', { terminationGracePeriodSeconds: 1 })),
    agent.run(pod('dns', { terminationGracePeriodSeconds: 1, ...critical })),
  ]);
  assert.equal(await agent.term(), 0);
  assert.equal((await runningPods()).size, 0);
  assert.ok(existsSync(join(agent.rootDir, 'graceful_node_shutdown_state')));
  await agent.start();
  await Promise.all(['web', 'dns'].map((name) => agent.ready(name)));
  await agent.remove('web', 'dns');
});
