// The commands of the CLI with a running agent: text, JSON and exit codes. Also the Pods API, as a program on the node
// uses it.
import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PodSchema } from '../../src/api/core/pod.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { PodExplanation } from '../../src/api/explanation/explanation.ts';
import { decodeMessage } from '../../src/api/protobuf/decode-protobuf.ts';
import { systemClock } from '../../src/base/clock.ts';
import { EventType } from '../../src/devices/generated/pods-v1alpha1.ts';
import { createPodsClient } from '../../src/devices/pods-server.ts';
import { waitUntil } from '../../src/up/processes.ts';
import { podName } from './support/agent.ts';
import { container, pod, shell, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerOf } from './support/watch.ts';

const fixture = agentFixture({
  name: 'cli',
  agent: {
    config: {
      containerLogMaxSize: '64Ki',
      containerLogMaxFiles: 3,
      containerLogMonitorInterval: '3s',
      featureGates: { PodsAPI: true },
    },
  },
});

describe('commands', SIDE_BY_SIDE, () => {
  test('pods lists pods as a table, as JSON and by name', async () => {
    const { agent } = fixture;
    const seen = await agent.run(pod('listed', { containers: [container('main'), container('other')] }));
    const table = await agent.cli('pods');
    assert.equal(table.code, 0);
    assert.match(table.stdout, /^NAMESPACE +NAME +READY +STATUS +RESTARTS +AGE +IP$/m);
    assert.match(
      table.stdout,
      new RegExp(`^default +${podName('listed')} +2/2 +Running +0 +\\d+s +${seen.status?.podIP}$`, 'm'),
    );
    const { items } = JSON.parse((await agent.cli('pods', '-o', 'json')).stdout) as { items: Pod[] };
    assert.equal(items.find((each) => each.metadata.name === podName('listed'))?.status?.phase, 'Running');
    assert.match((await agent.cli('pods', '-o', 'name')).stdout, new RegExp(`^${podName('listed')}$`, 'm'));
    assert.deepEqual(JSON.parse((await agent.cli('pods', '-n', 'elsewhere', '-o', 'json')).stdout as string).items, []);
  });

  test('explain exits 0 for a settled pod and 1 for one that is not, and says why', async () => {
    const { agent } = fixture;
    await agent.run(pod('settled'));
    const settled = await agent.cli('explain', 'settled');
    assert.deepEqual([settled.code, settled.stderr], [0, '']);
    assert.match(settled.stdout, /settled/);
    assert.match(settled.stdout, /timeline/);
    agent.writeManifest(
      'unsettled',
      pod('unsettled', {
        containers: [container('main', { readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1 } })],
      }),
    );
    await agent.waitFor('unsettled', 'running', (seen) => containerOf(seen).state?.running !== undefined);
    const unsettled = await agent.cli('explain', 'unsettled');
    assert.equal(unsettled.code, 1);
    assert.match(unsettled.stdout, /blocked on +readiness of container main/);
    const json = await agent.cli('explain', 'unsettled', '-o', 'json');
    assert.equal(json.code, 1);
    assert.equal((JSON.parse(json.stdout) as PodExplanation).blockers[0]?.step, 'readiness of container main');
    const none = await agent.cli('explain', 'nobody');
    assert.equal(none.code, 1);
    assert.match(none.stderr, /no pod "nobody"/);
    await agent.remove('unsettled');
  });

  test('plan prints the steps for a manifest and does nothing', async () => {
    const { agent, containerd } = fixture;
    const file = join(containerd.instance.dataDir, 'planned.yaml');
    writeFileSync(file, JSON.stringify(pod('planned', { initContainers: [container('first')] })));
    const fresh = await agent.cli('plan', file);
    assert.equal(fresh.code, 0, fresh.stderr);
    assert.match(fresh.stdout, /1\. create sandbox number 0/i);
    assert.match(fresh.stdout, /2\. start (init )?container first/i);
    assert.ok(!(await agent.pods()).some((each) => each.metadata.name === podName('planned')), 'planning made a pod');
    await agent.run(pod('running'));
    writeFileSync(file, JSON.stringify(pod('running')));
    assert.match((await agent.cli('plan', file)).stdout, /nothing to do/);
    writeFileSync(file, 'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}\n');
    const bad = await agent.cli('plan', file, '-o', 'json');
    assert.equal(bad.code, 1);
    assert.match(bad.stdout, /spec\.containers/);
  });

  test('exec passes output, input and the exit code on', async () => {
    const { agent } = fixture;
    await agent.run(pod('executed', { containers: [container('main'), container('other')] }));
    const plain = await agent.cli('exec', 'executed', '-c', 'main', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7');
    assert.deepEqual([plain.code, plain.stdout, plain.stderr], [7, 'out\n', 'err\n']);
    const which = await agent.cli('exec', 'executed', '--', 'true');
    assert.equal(which.code, 1);
    assert.match(which.stderr, /several containers: main, other/);
    // It counts to a number instead of reading to the end of input: a runtime with at most v4 of the protocol cannot be
    // notified of the end of input.
    const child = agent.cliProcess('exec', 'executed', '-c', 'other', '-i', '--', 'sh', '-c', 'head -c 100000 | wc -c');
    let counted = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (counted += text));
    child.stdin?.end('x'.repeat(100_000));
    assert.equal(await new Promise((resolve) => child.on('close', resolve)), 0);
    assert.equal(counted.trim(), '100000');
    const missing = await agent.cli('exec', 'executed', '-c', 'main', '--', '/no/such/program');
    assert.notEqual(missing.code, 0);
  });

  test('logs prints a container, its earlier instance, its tail and what follows', async () => {
    const { agent } = fixture;
    const talk = container('main', {
      volumeMounts: [{ name: 'v', mountPath: '/v' }],
      command: [
        'sh',
        '-c',
        'n=$(cat /v/n 2>/dev/null || echo 1); echo $((n+1)) > /v/n; for i in 1 2 3; do echo "run $n line $i"; done; [ $n = 1 ] && exit 1; trap "exit 0" TERM; sleep 100000 & wait',
      ],
    });
    agent.writeManifest('talking', pod('talking', { volumes: [{ name: 'v', emptyDir: {} }], containers: [talk] }));
    await agent.waitFor(
      'talking',
      'in its second run',
      (seen) => containerOf(seen).restartCount === 1 && containerOf(seen).ready,
    );
    assert.ok(
      await waitUntil(
        async () => (await agent.cli('logs', 'talking')).stdout === 'run 2 line 1\nrun 2 line 2\nrun 2 line 3\n',
        5000,
        100,
      ),
    );
    assert.equal((await agent.cli('logs', 'talking', '--tail', '1')).stdout, 'run 2 line 3\n');
    assert.equal((await agent.cli('logs', 'talking', '-p')).stdout, 'run 1 line 1\nrun 1 line 2\nrun 1 line 3\n');
    assert.match((await agent.cli('logs', 'talking', '--timestamps')).stdout, /^\d{4}-\d\d-\d\dT\S+ run 2 line 1$/m);
    const none = await agent.cli('logs', 'talking', '-c', 'nobody');
    assert.equal(none.code, 1);
    assert.match(none.stderr, /nobody/);
  });

  test('logs -f goes on until the container is gone, and loses no line when the log is rotated', async () => {
    const { agent } = fixture;
    const lines = 6000;
    const flood = container('main', {
      command: shell(
        `echo begin; while [ ! -e /go ]; do sleep 0.05; done; i=0; while [ $i -lt ${lines} ]; do i=$((i+1)); echo "line $i of a log that is rotated while a client reads it"; [ $((i % 100)) = 0 ] && sleep 0.12; done`,
      ),
    });
    agent.writeManifest('flood', pod('flood', { restartPolicy: 'Never', containers: [flood] }));
    await agent.waitFor('flood', 'running', (seen) => containerOf(seen).state?.running !== undefined);
    // The output begins when the follower is connected: as in upstream, files that were rotated before are not read.
    const follower = agent.cliProcess('logs', 'flood', '-f');
    let text = '';
    follower.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    assert.ok(await waitUntil(() => text === 'begin\n', 10_000));
    await agent.inside('flood', 'touch /go');
    assert.equal(await new Promise((resolve) => follower.on('close', resolve)), 0);
    const numbers = text
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(/^line (\d+) /.exec(line)?.[1]));
    assert.deepEqual([numbers.length, numbers[0], numbers.at(-1)], [lines, 1, lines]);
    assert.ok(
      numbers.every((number, index) => number === index + 1),
      'a line is missing or twice',
    );
    const folder = join(agent.podLogsDir, `default_${podName('flood')}_${agent.pod('flood').metadata.uid}`, 'main');
    const files = readdirSync(folder);
    assert.ok(
      files.some((name) => /^0\.log\.\d{8}-\d{6}/.test(name)),
      `the log was not rotated: ${files.join()}`,
    );
    assert.ok(files.length <= 3, `too many files: ${files.join()}`);
    await agent.remove('flood');
  });

  test('without an agent a command reports the missing agent and the path of its socket', async () => {
    const { agent } = fixture;
    const answer = await agent.cli('pods', '--socket', '/nowhere/kubelet.sock');
    assert.equal(answer.code, 1);
    assert.match(answer.stderr, /no agent answers at \/nowhere\/kubelet\.sock/);
  });

  test('version, help and wrong words', async () => {
    const { agent } = fixture;
    assert.match((await agent.cli('--version')).stdout, /^Kubernetes v1\.36/);
    const help = await agent.cli('--help');
    assert.equal(help.code, 0);
    assert.match(help.stdout, /--config/);
    const wrong = await agent.cli('explane');
    assert.equal(wrong.code, 1);
    assert.notEqual(wrong.stderr, '');
  });

  test('the socket is for root alone', async () => {
    const { agent } = fixture;
    assert.equal(statSync(agent.socket).mode & 0o077, 0);
    const seen = await agent.run(
      pod('unprivileged', {
        volumes: [{ name: 's', hostPath: { path: agent.socket } }],
        securityContext: { runAsUser: 1000 },
        containers: [container('main', { command: thenSleep(''), volumeMounts: [{ name: 's', mountPath: '/s' }] })],
      }),
    );
    assert.ok(seen);
    assert.notEqual(
      await agent.inside(
        'unprivileged',
        'nc -w 1 local:/s </dev/null >/dev/null 2>&1; test -w /s && echo writable || echo no',
      ),
      'writable',
    );
  });
});

const read = (bytes: Uint8Array): Pod => decodeMessage(bytes, PodSchema) as unknown as Pod;

test('pods of the Pods API are listed, found by uid, and watched from their first to their last state', async (context) => {
  const { agent } = fixture;
  await agent.clear();
  const client = createPodsClient({
    socketPath: join(agent.rootDir, 'pods-api', 'pods-api.sock'),
    clock: systemClock,
  });
  context.after(() => client.close());
  await agent.run(pod('early', { containers: [container('main')] }));

  const seen: { type: EventType; pod: Pod }[] = [];
  const synced = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const { type, pod: bytes } of client.watchPods({}, { timeoutMs: Infinity })) {
      seen.push({ type, pod: read(bytes) });
      if (type === EventType.INITIAL_SYNC_COMPLETE) synced.resolve();
      if (type === EventType.DELETED) return;
    }
  })();
  await synced.promise;
  const late = await agent.run(pod('late', { containers: [container('main')] }));
  const listed = (await client.listPods({})).pods.map(read);
  assert.deepEqual(listed.map(({ metadata }) => metadata.name).sort(), ['early-node', 'late-node']);
  const found = read((await client.getPod({ podUID: late.metadata.uid })).pod);
  assert.deepEqual([found.metadata.name, found.status?.phase], ['late-node', 'Running']);
  await assert.rejects(client.getPod({ podUID: 'other' }), /NotFound desc = pod with UID other not found/);

  await agent.remove('late');
  await watching;
  assert.equal(seen[0]?.pod.metadata.name, 'early-node');
  assert.equal(seen[1]?.type, EventType.INITIAL_SYNC_COMPLETE);
  const ofLate = seen.filter(({ pod: { metadata } }) => metadata?.uid === late.metadata.uid);
  assert.equal(ofLate[0]?.type, EventType.ADDED);
  assert.equal(ofLate.at(-1)?.type, EventType.DELETED);
  assert.ok(ofLate.slice(1, -1).every(({ type }) => type === EventType.MODIFIED));
  assert.ok(ofLate.some(({ pod: { metadata } }) => metadata.deletionTimestamp !== undefined));
});
