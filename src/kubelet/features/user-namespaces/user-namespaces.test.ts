import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podUid, sandboxId } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeProcesses } from '../../ports/testing/fake-processes.ts';
import { encodeMappings } from './mappings-file.ts';
import type { UserNamespacesOptions } from './user-namespaces.ts';
import { UserNamespaces } from './user-namespaces.ts';

const PIECE = 65_536;

class Node {
  readonly files = new FakeHostFiles(new FakeClock());
  readonly processes = new FakeProcesses();
  readonly running = new Map<string, PodRuntimeStatus>();
  handlers = new Map([
    ['', { userNamespaces: true }],
    ['plain', { userNamespaces: false }],
  ]);

  /** Starts an agent on this node. */
  async agent(more: Partial<UserNamespacesOptions> = {}): Promise<UserNamespaces> {
    const { files, processes } = this;
    const agent = new UserNamespaces({
      rootDir: '/root',
      idsPerPod: PIECE,
      maxPods: 3,
      files,
      processes,
      random: seededRandom(7),
      log: silentLogger,
      handlers: () => this.handlers,
      runtimePods: () => this.running.values(),
      ...more,
    });
    await agent.start();
    return agent;
  }

  /** Adds a user `kubelet` with this number of id ranges. */
  assign(pieces: number, gids = pieces): void {
    this.files.seed({ '/etc/passwd': 'root:x:0:0::/:/bin/sh\nkubelet:x:900:900::/:/bin/false\n' });
    this.processes.install('getsubids', ({ args }) => ({
      stdout: `0: kubelet ${PIECE} ${PIECE * (args[0] === '-g' ? gids : pieces)}\n`,
    }));
  }

  run(uid: string, hostId: number, ready = true): void {
    const sandbox = {
      id: sandboxId(`s-${uid}`),
      podUid: podUid(uid),
      podName: uid,
      podNamespace: 'n',
      attempt: 0,
      ready,
      createdAtMs: 0,
      ips: [],
      hostNetwork: false,
      userns: { hostId, length: PIECE },
      runtimeHandler: '',
      labels: {},
      annotations: {},
    };
    this.running.set(uid, {
      uid: podUid(uid),
      name: uid,
      namespace: 'n',
      sandboxes: [sandbox],
      containers: [],
      observedAtMs: 0,
    });
  }

  file(uid: string): string | undefined {
    return this.files.peek(`/root/pods/${uid}/userns`);
  }
}

const pod = (uid: string, hostUsers: boolean | undefined = false): Pod => ({
  metadata: { name: uid, namespace: 'n', uid },
  spec: { containers: [], hostUsers },
});
const hostIds = async (agent: UserNamespaces, ...uids: string[]): Promise<number[]> =>
  Promise.all(
    uids.map(async (uid) => {
      const userns = await agent.ensure(pod(uid), '');
      return userns.mode === 'pod' ? userns.hostId : -1;
    }),
  );

describe('ids for a pod', () => {
  test('are unique, are on disk before they are used, and stay the same', async () => {
    const node = new Node();
    const agent = await node.agent();
    const [first = 0, second = 0] = await hostIds(agent, 'a', 'b');
    assert.ok(first !== second && first % PIECE === 0 && first >= PIECE);
    assert.equal(node.file('a'), encodeMappings({ hostId: first, length: PIECE }));
    assert.deepEqual(await hostIds(agent, 'a', 'b', 'a'), [first, second, first]);
    assert.equal((await node.files.stat('/root/pods/a/userns'))?.mode, 0o600);
  });

  test("are the host's unless hostUsers is false", async () => {
    const agent = await new Node().agent();
    assert.deepEqual(
      [
        await agent.ensure(pod('a', true), 'plain'),
        await agent.ensure({ ...pod('a'), spec: { containers: [] } }, 'plain'),
      ],
      [{ mode: 'node' }, { mode: 'node' }],
    );
  });

  test("need a handler that maps users; without one the pod is rejected in upstream's words", async () => {
    const node = new Node();
    const agent = await node.agent();
    await assert.rejects(agent.ensure(pod('a'), 'plain'), {
      message: 'can\'t set `spec.hostUsers: false`, RuntimeClass handler "plain" does not support user namespaces',
    });
    await assert.rejects(agent.ensure(pod('a'), 'new'), {
      message:
        'can\'t set `spec.hostUsers: false`, RuntimeClass handler "new" does not support user namespaces: the handler "new" is not known',
    });
    // A runtime from before handlers were reported.
    node.handlers = new Map();
    await assert.rejects(agent.ensure(pod('a'), ''), {
      message: "can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    });
    assert.equal(node.file('a'), undefined);
  });

  test('are from those assigned to the user kubelet, and a pod without free ids waits until another is gone', async () => {
    const node = new Node();
    node.assign(3);
    const agent = await node.agent();
    assert.deepEqual(
      (await hostIds(agent, 'a', 'b', 'c')).toSorted((left, right) => left - right),
      [PIECE, 2 * PIECE, 3 * PIECE],
    );
    await assert.rejects(agent.ensure(pod('d'), ''), {
      message: 'create user namespace: could not find an empty slot to allocate a user namespace',
    });
    await agent.release(podUid('b'));
    assert.equal(node.file('b'), undefined);
    assert.equal((await agent.ensure(pod('d'), '')).mode, 'pod');
  });

  test('are not allocated for a pod whose uid is a path', async () => {
    const node = new Node();
    const agent = await node.agent();
    for (const uid of ['', '.', '..', '../../etc', 'a/b'])
      await assert.rejects(agent.ensure(pod(uid), ''), { kind: 'Invalid' }, uid);
    assert.equal(node.files.peek('/etc/userns'), undefined);
  });

  test('that cannot be recorded are not used, and are free again', async () => {
    const node = new Node();
    node.assign(3);
    const agent = await node.agent();
    const end = node.files.makeReadOnly('/root');
    await assert.rejects(agent.ensure(pod('a'), ''), /^KubeletError: create user namespace: .*read-only/);
    end();
    assert.equal(new Set(await hostIds(agent, 'a', 'b', 'c')).size, 3);
  });
});

describe('a restart of the agent', () => {
  test('changes no pod and reuses no ids', async () => {
    const node = new Node();
    node.assign(3);
    const before = await hostIds(await node.agent(), 'a', 'b');
    const after = await node.agent();
    const [third = 0] = await hostIds(after, 'c');
    assert.ok(!before.includes(third));
    assert.deepEqual(await hostIds(after, 'a', 'b'), before);
  });

  test('with files lost or damaged takes the ids from the running pods, and records them again', async () => {
    const node = new Node();
    node.assign(3);
    node.files.seed({
      '/root/pods/a/userns': '{"uidMap',
      '/root/pods/b/userns': encodeMappings({ hostId: PIECE, length: PIECE }),
    });
    node.run('a', PIECE);
    node.run('lost', 2 * PIECE);
    const agent = await node.agent();
    assert.deepEqual(await hostIds(agent, 'b', 'a', 'lost'), [3 * PIECE, PIECE, 2 * PIECE]);
    assert.deepEqual(
      [node.file('a'), node.file('lost')],
      [encodeMappings({ hostId: PIECE, length: PIECE }), encodeMappings({ hostId: 2 * PIECE, length: PIECE })],
    );
  });

  test('a damaged file of a pod that does not run is replaced; so is one with ids that are not for pods', async () => {
    const node = new Node();
    node.assign(3);
    node.files.seed({
      '/root/pods/a/userns': 'x',
      '/root/pods/b/userns': encodeMappings({ hostId: 0, length: PIECE }),
      '/root/pods/c/userns': encodeMappings({ hostId: PIECE, length: 1 }),
      '/root/pods/d/userns': '',
    });
    node.run('d', 0, false);
    const agent = await node.agent();
    const ids = await hostIds(agent, 'a', 'b', 'c');
    assert.deepEqual(
      ids.toSorted((left, right) => left - right),
      [PIECE, 2 * PIECE, 3 * PIECE],
    );
    assert.equal(node.file('b'), encodeMappings({ hostId: ids[1] ?? 0, length: PIECE }));
  });

  test('on a failing disk continues, and finds the used ids when a pod needs some', async () => {
    const node = new Node();
    node.assign(3);
    const before = await hostIds(await node.agent(), 'a', 'b');
    const end = node.files.failIo('/root');
    const agent = await node.agent();
    await assert.rejects(agent.ensure(pod('c'), ''), /input\/output error/);
    end();
    const [third = 0] = await hostIds(agent, 'c');
    assert.ok(!before.includes(third));
    assert.deepEqual(await hostIds(agent, 'b', 'a'), before.toReversed());
  });

  test('unknown pods that do not run release their ids', async () => {
    const node = new Node();
    node.assign(3);
    await hostIds(await node.agent(), 'kept', 'gone', 'orphan');
    const agent = await node.agent();
    node.run('orphan', 3 * PIECE);
    await agent.cleanupOrphans(new Set([podUid('kept')]));
    assert.deepEqual(
      ['kept', 'gone', 'orphan'].map((uid) => node.file(uid) !== undefined),
      [true, false, true],
    );
  });
});

describe('ids assigned by the operator', () => {
  const problem = async (prepare: (node: Node) => void): Promise<string> => {
    const node = new Node();
    prepare(node);
    return node.agent().then(
      () => 'none',
      (error: Error) => error.message,
    );
  };
  const prefix = 'create user namespace manager:';

  test('are not read without the user, or without the tool', async () => {
    assert.equal(await problem(() => undefined), 'none');
    assert.equal(await problem((node) => node.files.seed({ '/etc/passwd': 'kubelet:x:1:1::/:/bin/sh\n' })), 'none');
    assert.equal(await problem((node) => node.processes.install('getent', () => ({ exitCode: 2 }))), 'none');
  });

  test('that cannot be read, or are invalid, keep the agent from starting', async () => {
    assert.equal(
      await problem((node) => node.assign(2)),
      `${prefix} kubelet user assigned IDs are not enough to support 3 pods`,
    );
    assert.equal(
      await problem((node) => node.assign(3, 4)),
      `${prefix} kubelet mappings: mismatched subuids and subgids for user "kubelet"`,
    );
    const away = (node: Node): void => {
      node.processes.install('getent', () => ({ stdout: 'kubelet:x:1:1::/:/bin/sh\n' }));
      node.processes.install('getsubids', () => ({ exitCode: 1 }));
    };
    assert.equal(
      await problem(away),
      `${prefix} kubelet mappings: error retrieving additional uids for user "kubelet": exit status 1`,
    );
  });
});
