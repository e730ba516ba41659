// The Deployment of the documents through its whole life, with kubectl alone, on both stores, while the process is
// killed at random moments.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import { pause } from '../../src/up/processes.ts';
import { startEtcd } from '../integration/support/etcd.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { nginxDeployment } from './support/nginx-deployment.ts';

/** The steps that a person would type. `run` may retry commands while the server is down. */
async function wholeLife(run: (args: readonly string[], input?: string) => Promise<string>): Promise<void> {
  const name = 'deployment/nginx-deployment';
  const settled = (): Promise<string> => run(['rollout', 'status', name, '--timeout=60s']);
  const images = (): Promise<string> =>
    run([
      'get',
      'pods',
      '-l',
      'app=nginx',
      '--field-selector=status.phase=Running',
      '-o',
      'jsonpath={.items[*].spec.containers[0].image}',
    ]);
  await run(['apply', '-f', '-'], nginxDeployment);
  await settled();
  assert.equal((await images()).trim().split(/\s+/).length, 3);
  await run(['scale', name, '--replicas=5']);
  await settled();
  await run(['set', 'image', name, 'nginx=nginx:2']);
  await settled();
  await eventually(async () => assert.deepEqual([...new Set((await images()).trim().split(/\s+/))], ['nginx:2']));
  assert.equal((await images()).trim().split(/\s+/).length, 5);
  await run(['rollout', 'undo', name]);
  await settled();
  await eventually(async () => assert.deepEqual([...new Set((await images()).trim().split(/\s+/))], ['nginx']));
  const revisions = await run([
    'get',
    'replicasets',
    '-l',
    'app=nginx',
    '-o',
    'jsonpath={.items[*].metadata.annotations.deployment\\.kubernetes\\.io/revision}',
  ]);
  assert.deepEqual(revisions.trim().split(/\s+/).sort(), ['2', '3']);
  await run(['delete', name, '--ignore-not-found']);
  await eventually(async () =>
    assert.equal(await run(['get', 'deployments,replicasets,pods', '-l', 'app=nginx', '-o', 'name']), ''),
  );
}

describe('the seed Deployment with nothing but kubectl', { concurrency: 2 }, () => {
  for (const store of ['sqlite', 'etcd'] as const) {
    it(`the seed Deployment goes through its whole life with nothing but kubectl, and again while the control plane is killed again and again, on ${store}`, async () => {
      const etcd = store === 'etcd' ? await startEtcd() : undefined;
      const cluster = await startCluster({ nodes: 3, ...(etcd !== undefined && { etcd }) });
      const random = seededRandom(7);
      let over = false;
      let killer = Promise.resolve(0);
      try {
        await wholeLife(cluster.kubectl);
        const server = { serves: Promise.resolve() };
        killer = killing(cluster, server, { next: random.next.bind(random), over: () => over });
        await wholeLife((args, input) => insisting(cluster, server, args, input));
        over = true;
        assert.ok((await killer) >= 3, 'the control plane was killed at least three times');
      } finally {
        over = true;
        await killer;
        await cluster.stop();
        await etcd?.stop();
      }
    });
  }
});

/** More would only take longer: each step takes about a second, and by then each was interrupted. */
const enoughKills = 6;

/** Resolves when the server was started again and serves. */
interface Restarted {
  serves: Promise<void>;
}

interface Killing {
  /** A random number from 0 to 1. */
  readonly next: () => number;
  readonly over: () => boolean;
}

/** Kills and starts the server at random times until it is `over`; returns the number of kills. */
async function killing(cluster: TestCluster, server: Restarted, { next, over }: Killing): Promise<number> {
  let kills = 0;
  while (!over() && kills < enoughKills) {
    await pause(200 + next() * 1200);
    if (over()) break;
    await cluster.kill();
    kills++;
    server.serves = cluster.start();
    await server.serves;
  }
  return kills;
}

/**
 * Runs a command as a person would: after a failure without a response it is repeated when the server is back. A
 * refused command is not repeated.
 */
async function insisting(
  cluster: TestCluster,
  server: Restarted,
  args: readonly string[],
  input?: string,
): Promise<string> {
  for (let left = 60; ; left--) {
    const { code, stdout, stderr } = await cluster.tryKubectl(args, input);
    if (code === 0) return stdout;
    const unanswered =
      /refused|EOF|reset by peer|broken pipe|TLS handshake|closed|unexpected error when reading|connection|timed out|not ready|etcdserver|unable to connect|InternalError/i.test(
        stderr,
      );
    if (!unanswered || left === 0) throw new Error(`kubectl ${args.join(' ')}: ${stdout}${stderr}`);
    await pause(200);
    await server.serves;
  }
}
