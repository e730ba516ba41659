// Pods on a real Docker Engine, with an agent that is started like the old kubelet, with the dockershim inside.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readBusybox } from '../../src/up/image-store.ts';
import { PAUSE_IMAGE, standardImages, WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { TestAgent } from './support/agent.ts';
import type { TestDocker } from './support/docker.ts';
import { startDocker } from './support/docker.ts';
import { container, pod, shell, thenSleep } from './support/manifests.ts';
import { waitUntil } from './support/patience.ts';
import { containerId, containerOf } from './support/watch.ts';

describe('pods on Docker', () => {
  let docker: TestDocker;
  let agent: TestAgent;

  before(async () => {
    docker = await startDocker({ name: 'dock' });
    await docker.leaveShimToAgent();
    agent = await TestAgent.start(docker, { args: docker.agentArguments });
  });

  after(async () => {
    try {
      await agent?.stop();
    } finally {
      await docker?.stop();
    }
  });

  const names = (id: string): Promise<string> => docker.docker('inspect', '--format', '{{.Name}}', id);
  const sandboxOf = async (name: string): Promise<string> =>
    (await docker.docker('ps', '--quiet', '--no-trunc', '--filter', `name=k8s_POD_${name}_`)).trim();

  test('a pod runs, is reached, logs and takes commands; names are those of cri-dockerd', async () => {
    const command = thenSleep('echo out; echo err >&2; cat /etc/resolv.conf > /dev/null');
    const running = await agent.run(pod('plain', { containers: [container('main', { command })] }));
    assert.match(containerOf(running).containerID ?? '', /^docker:\/\/[0-9a-f]{64}$/);
    assert.match(await names(containerId(running)), /^\/k8s_main_plain-node_default_[^_]+_0$/m);
    assert.match(running.status?.podIP ?? '', /^10\./);
    assert.equal(await agent.inside('plain', 'hostname'), 'plain-node');
    assert.ok(await waitUntil(() => /out/.test(agent.output('plain')) && /err/.test(agent.output('plain')), 10_000));
    const stopped = await agent.cli('exec', 'plain', '--', 'sh', '-c', 'exit 7');
    assert.equal(stopped.code, 7, stopped.stderr);
  });

  test('a container that fails is another container after it, with its reason', async () => {
    const main = container('main', {
      command: shell('echo last words; exit 3'),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    });
    agent.writeManifest('fails', pod('fails', { restartPolicy: 'OnFailure', containers: [main] }));
    const again = await agent.waitFor('fails', 'restarted', (each) => containerOf(each).restartCount > 0);
    const { terminated } = containerOf(again).lastState ?? {};
    assert.deepEqual([terminated?.exitCode, terminated?.reason, terminated?.message], [3, 'Error', 'last words\n']);
    await agent.remove('fails');
  });

  test('a program that does not exist is named in the status', async () => {
    agent.writeManifest(
      'missing',
      pod('missing', { containers: [container('main', { command: ['/no/such/program'] })] }),
    );
    const seen = await agent.waitFor('missing', 'reported', (each) => {
      const { state, lastState } = containerOf(each);
      return [state, lastState].some((one) =>
        /no such file/.test(one?.terminated?.message ?? one?.waiting?.message ?? ''),
      );
    });
    assert.equal(containerOf(seen).ready, false);
    await agent.remove('missing');
  });

  test('dockerd can be killed under running pods: none is restarted, and the log has each line once', async () => {
    const command = shell('n=0; trap "exit 0" TERM; while :; do n=$((n+1)); echo $n; sleep 0.05; done');
    const before = await agent.run(pod('counts', { containers: [container('main', { command })] }));
    await docker.restartDocker();
    assert.ok(await waitUntil(async () => (await agent.inside('counts', 'echo ok').catch(() => '')) === 'ok', 30_000));
    const lines = (): number[] =>
      agent
        .output('counts')
        .split('\n')
        .filter((line) => line !== '')
        .map(Number);
    const reached = lines().length + 20;
    assert.ok(await waitUntil(() => lines().length >= reached, 20_000), 'the log stands still');
    assert.deepEqual(
      lines(),
      lines().map((_line, index) => index + 1),
    );
    const now = agent.pod('counts');
    assert.deepEqual([containerId(now), containerOf(now).restartCount], [containerId(before), 0]);
  });

  test('an agent that is killed comes back with its shim: nothing is restarted, and the log has each line once', async () => {
    const before = containerId(agent.pod('counts'));
    await agent.kill9();
    await agent.start();
    const now = await agent.ready('counts');
    assert.deepEqual([containerId(now), containerOf(now).restartCount], [before, 0]);
    const text = (): string => agent.output('counts');
    const count = text().split('\n').length;
    assert.ok(await waitUntil(() => text().split('\n').length > count + 20, 20_000), 'the log stands still');
    const numbers = text().split('\n').slice(0, -1).map(Number);
    assert.deepEqual(
      numbers,
      numbers.map((_line, index) => index + 1),
    );
    await agent.remove('counts');
  });

  test('a container or sandbox that was removed by hand is recreated, and its address is freed', async () => {
    const before = await agent.ready('plain');
    await docker.docker('rm', '--force', containerId(before));
    const second = await agent.waitFor('plain', 'a new container', (each) => {
      const id = containerId(each);
      return containerOf(each).ready && id !== '' && id !== containerId(before);
    });
    const address = second.status?.podIP ?? '';
    await docker.docker('rm', '--force', await sandboxOf('plain-node'));
    await agent.waitFor(
      'plain',
      'a new sandbox',
      (each) => containerOf(each).ready && (each.status?.podIP ?? address) !== address,
    );
    const { items } = await docker.cri.runtime.listPodSandbox({});
    await agent.remove('plain');
    const left = async (): Promise<number> => (await docker.cri.runtime.listPodSandbox({})).items.length;
    assert.ok(await waitUntil(async () => (await left()) === 0, 20_000), `${items.length} sandboxes are left`);
  });

  test('images removed by hand restart nothing, and pods of them start when they are back', async () => {
    const before = await agent.run(pod('keeps', { containers: [container('main')] }));
    await docker.docker('image', 'prune', '--all', '--force');
    await docker.docker('rmi', '--force', WEB_IMAGE, PAUSE_IMAGE).catch(() => '');
    agent.writeManifest('waits', pod('waits', { containers: [container('main')] }));
    await agent.explained('waits', 'the missing image', (now) =>
      /connection refused/.test(JSON.stringify(now.blockers)),
    );
    assert.equal(await agent.inside('keeps', 'echo ok'), 'ok');
    await docker.importImages(standardImages(process.arch, await readBusybox()));
    await agent.ready('waits', 60_000);
    const now = agent.pod('keeps');
    assert.deepEqual([containerId(now), containerOf(now).restartCount], [containerId(before), 0]);
    await agent.remove('keeps', 'waits');
  });

  test('a pod that was paused by hand is removed like any other', async () => {
    const running = await agent.run(pod('paused', { containers: [container('main')] }));
    await docker.docker('pause', containerId(running), await sandboxOf('paused-node'));
    await agent.remove('paused');
    assert.equal((await docker.docker('ps', '--all', '--quiet', '--filter', 'name=_paused-node_')).trim(), '');
  });

  test('a pod shows what it uses, with its containers and its network', async () => {
    const running = await agent.run(pod('uses', { containers: [container('main')] }));
    const podSandboxId = await sandboxOf('uses-node');
    const { stats } = await docker.cri.runtime.podSandboxStats({ podSandboxId });
    const { cpu, memory, network, process: processes, containers = [] } = stats?.linux ?? {};
    assert.ok((cpu?.usageCoreNanoSeconds?.value ?? 0n) > 0n);
    assert.ok((memory?.workingSetBytes?.value ?? 0n) > 0n);
    assert.equal(network?.defaultInterface?.name, 'eth0');
    // The sandbox's, the shell's and its sleep.
    assert.ok((processes?.processCount?.value ?? 0n) >= 3n);
    assert.deepEqual(
      containers.map(({ attributes }) => attributes?.id),
      [containerId(running)],
    );
    const { podMetrics } = await docker.cri.runtime.listPodSandboxMetrics({});
    assert.ok(podMetrics.some((each) => each.podSandboxId === podSandboxId && each.metrics.length > 0));
    await agent.remove('uses');
  });
});
