// Processes that the kernel kills for lack of memory, with limits of 32 MiB.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { container, pod, SLEEP, shell, thenSleep } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const fixture = agentFixture({ name: 'oom', agent: { config: { singleProcessOOMKill: true } } });

/** Fills 64 MiB in a process of its own. */
const HOG = 'dd if=/dev/zero of=/dev/null bs=64M count=1';
const limited = (command: readonly string[]) =>
  container('main', { command, resources: { requests: { memory: '16Mi' }, limits: { memory: '32Mi' } } });
const oomKilled = (seen: Pod) => (seen.status?.conditions ?? []).find(({ type }) => type === 'OOMKilled');

async function textOf(socketPath: string, path: string): Promise<string> {
  const [response] = (await once(get({ socketPath, path }), 'response')) as [IncomingMessage];
  return text(response);
}

describe('a process that exceeds the memory limit', () => {
  test('and whose container goes on is named in the status, the events and explain, and counted', async () => {
    const { agent } = fixture;
    await agent.run(
      pod('survivor', {
        containers: [limited(thenSleep(`${HOG} || echo killed > /dev/null`)), container('other', { command: SLEEP })],
      }),
    );
    const seen = await agent.waitFor('survivor', 'the kill', (now) => oomKilled(now) !== undefined);
    const said = oomKilled(seen);
    assert.match(
      said?.message ?? '',
      /^The memory limit of (the pod|container main) was exceeded: 3[12](\.\d)?Mi used of 32Mi; the kernel killed a process of container main: dd$/,
    );
    assert.deepEqual([said?.status, said?.reason], ['True', 'ProcessKilled']);
    assert.notEqual(containerOf(seen).state?.running, undefined);
    assert.equal(containerOf(seen).restartCount, 0);
    const { timeline } = await agent.explained('survivor', 'a timeline', () => true);
    assert.deepEqual(
      timeline.filter(({ reason }) => reason === 'OOMKilling').map(({ message, count }) => [message, count]),
      [[said?.message, 1]],
    );
    const events = (await agent.cli('events')).stdout;
    assert.match(events, /OOMKilling/);
    assert.doesNotMatch(events, /SystemOOM/);
    const metrics = await textOf(agent.socket, '/metrics/cadvisor');
    const counted = metrics
      .split('\n')
      .filter((line) => line.startsWith('container_oom_events_total{') && line.includes('pod="survivor-node"'))
      .map((line) => [/container="([^"]*)"/.exec(line)?.[1], line.split('} ')[1]?.split(' ')[0]]);
    assert.deepEqual(counted.filter(([name]) => name === 'main' || name === 'other').sort(), [
      ['main', '1'],
      ['other', '0'],
    ]);
    await agent.remove('survivor');
  });

  test('and is the container itself ends it as OOMKilled, with what it used of its limit', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'victim',
      pod('victim', { restartPolicy: 'Never', containers: [limited(shell(`exec ${HOG}`))] }),
    );
    const seen = await agent.waitFor(
      'victim',
      'its end and the reason',
      (now) => now.status?.phase === 'Failed' && containerOf(now).state?.terminated?.message !== undefined,
    );
    const ended = containerOf(seen).state?.terminated;
    assert.deepEqual([ended?.reason, ended?.exitCode], ['OOMKilled', 137]);
    assert.match(
      ended?.message ?? '',
      /^The memory limit of (the pod|container main) was exceeded: 3[12](\.\d)?Mi used of 32Mi; process dd \(pid \d+\) used (2[5-9]|3[0-4])(\.\d)?Mi$/,
    );
    // A new agent no longer knows the kill from the kernel, and keeps what was published.
    await agent.restart();
    const later = await agent.waitFor('victim', 'the same status', (now) => now.status?.phase === 'Failed');
    assert.deepEqual(containerOf(later).state?.terminated, ended);
    assert.equal(containerId(later), containerId(seen));
    await agent.remove('victim');
  });
});
