import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../src/base/random.ts';
import type { CsiOperation } from '../../src/kubelet/ports/testing/fake-csi-drivers.ts';
import { FakeCsiDriver } from '../../src/kubelet/ports/testing/fake-csi-drivers.ts';
import { between, chance, ManifestFolder, pick } from './manifests.ts';
import { paths, SimulatedNode } from './world.ts';

const DRIVER = 'd.example';
const SOCKET = `${paths.root}/plugins_registry/d.sock`;
const CLAIMS = ['a', 'b', 'raw'];
const OPERATIONS: readonly CsiOperation[] = ['stage', 'unstage', 'publish', 'unpublish', 'getCapabilities'];

function objectsText(): string {
  const driver = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: { volumeLifecycleModes: ['Persistent', 'Ephemeral'] },
  };
  const claims = CLAIMS.flatMap((name) => {
    const volumeMode = name === 'raw' ? 'Block' : 'Filesystem';
    const shared = { accessModes: ['ReadWriteMany'], volumeMode, storageClassName: '' };
    const source = {
      capacity: { storage: '1Gi' },
      claimRef: { namespace: 'default', name },
      csi: { driver: DRIVER, volumeHandle: `handle-${name}` },
    };
    return [
      { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `pv-${name}` }, spec: { ...shared, ...source } },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name, namespace: 'default' },
        spec: { ...shared, volumeName: `pv-${name}`, resources: { requests: { storage: '1Gi' } } },
      },
    ];
  });
  return [driver, ...claims].map((object) => JSON.stringify(object)).join('\n---\n');
}

function podText(name: string, claim: string | undefined): string {
  const source = claim === undefined ? { csi: { driver: DRIVER } } : { persistentVolumeClaim: { claimName: claim } };
  const use =
    claim === 'raw'
      ? { volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] }
      : { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
  const containers = [{ name: 'main', image: 'docker.io/library/app:1', command: ['simulate'], args: ['{}'], ...use }];
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { terminationGracePeriodSeconds: 5, volumes: [{ name: 'v', ...source }], containers },
  });
}

/** A node whose pods use volumes of a driver that fails, hangs and stops, with an agent that is killed at any time. */
class Storage {
  readonly node: SimulatedNode;
  readonly driver: FakeCsiDriver;
  readonly manifests: ManifestFolder;
  /** The wanted pods with their claims; undefined for an inline volume. */
  readonly pods = new Map<string, string | undefined>();
  readonly violations: string[] = [];
  readonly #random;
  #count = 0;
  #deathIn = -1;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.node = new SimulatedNode({ seed });
    this.driver = new FakeCsiDriver(this.node.files, this.node.mounts);
    this.manifests = new ManifestFolder(this.node);
    this.node.csiDrivers.byEndpoint.set('/csi.sock', this.driver);
    this.node.gate = (port) => {
      if (port !== 'csi' || this.#deathIn-- !== 0) return undefined;
      return pick(this.#random, ['before', 'during', 'after'] as const);
    };
    this.#watchDriver();
  }

  /** Reports calls that a real driver would refuse, or that would lose data. */
  #watchDriver(): void {
    const { unstage, unpublish } = this.driver;
    this.driver.unstage = (request, limitMs) => {
      if ([...this.driver.published.values()].includes(request.volumeId))
        this.violations.push(`${request.volumeId} was unstaged while it is published`);
      return unstage(request, limitMs);
    };
    this.driver.unpublish = (request, limitMs) => {
      const running = this.node.runtime.containers().filter(({ state }) => state === 'running');
      if (running.some(({ sandbox }) => request.targetPath.includes(sandbox.config.uid)))
        this.violations.push(`${request.targetPath} was unpublished while its pod runs`);
      return unpublish(request, limitMs);
    };
  }

  async come(): Promise<void> {
    this.node.plugins.set(SOCKET, {
      type: 'CSIPlugin',
      name: DRIVER,
      endpoint: '/csi.sock',
      supportedVersions: ['1.0.0'],
    });
    this.node.files.seed({ [SOCKET]: 'socket' }, true);
    // Watches do not report seeded files, but they report this one.
    await this.node.files.writeFile(`${SOCKET}.note`, '', 0o600);
    await this.node.files.remove(`${SOCKET}.note`);
  }

  async go(): Promise<void> {
    this.node.plugins.delete(SOCKET);
    await this.node.files.remove(SOCKET);
  }

  async step(): Promise<void> {
    const kind = this.#random.next();
    if (kind < 0.35 || this.pods.size === 0) {
      const name = `p${this.#count++}`;
      const claim = chance(this.#random, 0.3) ? undefined : pick(this.#random, CLAIMS);
      this.pods.set(name, claim);
      await this.manifests.write(`${name}.yaml`, podText(name, claim));
    } else if (kind < 0.6) {
      const name = pick(this.#random, [...this.pods.keys()]);
      this.pods.delete(name);
      await this.manifests.remove(`${name}.yaml`);
    } else if (kind < 0.8) this.#disturb();
    else if (kind < 0.88) this.#deathIn = between(this.#random, 0, 6);
    else if (this.node.plugins.has(SOCKET)) await this.go();
    else await this.come();
    if (this.node.agent === undefined) this.node.start();
    await this.node.clock.advance(
      chance(this.#random, 0.5) ? between(this.#random, 1, 100) : between(this.#random, 1000, 30_000),
    );
  }

  #disturb(): void {
    const op = pick(this.#random, OPERATIONS);
    const times = between(this.#random, 1, 3);
    const happens = chance(this.#random, 0.5);
    if (chance(this.#random, 0.3))
      this.driver.stall(op, { clock: this.node.clock, times: 1, happens: happens && op !== 'getCapabilities' });
    else
      this.driver.fail(op, {
        code: pick(this.#random, ['Internal', 'Unavailable', 'Aborted', 'DeadlineExceeded'] as const),
        times,
        after: happens,
      });
  }

  async heal(): Promise<void> {
    this.#deathIn = -1;
    this.driver.heal();
    if (!this.node.plugins.has(SOCKET)) await this.come();
    if (this.node.agent === undefined) this.node.start();
    // A call that stalls takes two minutes, and what failed for long is tried again after as much.
    await this.node.clock.advance(600_000);
  }

  /** The driver's state, and its mounts: how often each volume is staged and published. */
  found() {
    const nameOf = (volumeId: string): string => (volumeId.startsWith('csi-') ? 'inline' : volumeId);
    const sources = this.node.mounts.mounted.map(({ source, path }) =>
      path.includes('/volumeDevices/pv-raw/dev/') ? 'published:handle-raw' : source,
    );
    const mounted = (what: string): string[] =>
      sources.filter((source) => source.startsWith(what)).map((source) => nameOf(source.slice(what.length)));
    return {
      staged: [...this.driver.staged.values()].sort(),
      published: [...this.driver.published.values()].map(nameOf).sort(),
      // A raw device has no shared mount.
      mountedStaged: mounted('staged:').sort(),
      mountedPublished: mounted('published:').sort(),
    };
  }

  expected() {
    const claims = [...this.pods.values()];
    const staged = [...new Set(claims.filter((claim) => claim !== undefined))].map((claim) => `handle-${claim}`).sort();
    const published = claims.map((claim) => (claim === undefined ? 'inline' : `handle-${claim}`)).sort();
    return {
      staged,
      published,
      mountedStaged: staged.filter((volume) => volume !== 'handle-raw'),
      mountedPublished: published,
    };
  }
}

describe('volumes of a driver that fails, stalls and goes away', () => {
  it('are there for every pod that is wanted and for no other, however often agent and driver end', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const storage = new Storage(seed);
      storage.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
      await storage.manifests.write('objects.yaml', objectsText());
      await storage.come();
      storage.node.start();
      await storage.node.clock.advance(1000);
      for (let step = 0; step < 50; step++) await storage.step();
      await storage.heal();
      assert.deepEqual(storage.violations, [], `seed ${seed}`);
      assert.deepEqual(storage.found(), storage.expected(), `seed ${seed}`);
      const running = storage.node.runtime.containers().filter(({ state }) => state === 'running');
      assert.equal(running.length, storage.pods.size, `seed ${seed}`);
      assert.deepEqual(storage.node.agentErrors, []);
      await storage.node.terminate();
    }
  });
});

/** Upstream's end-to-end tests of the same names (test/e2e/storage/csimock/csi_node_stage_error_cases.go). */
describe('the order of staging calls', () => {
  async function begin(): Promise<Storage> {
    const storage = new Storage(1);
    storage.driver.capabilities = ['STAGE_UNSTAGE_VOLUME'];
    await storage.manifests.write('objects.yaml', objectsText());
    await storage.come();
    storage.node.start();
    await storage.node.clock.advance(1000);
    return storage;
  }
  const run = async ({ node, manifests }: Storage, name: string): Promise<void> => {
    await manifests.write(`${name}.yaml`, podText(name, 'a'));
    await node.clock.advance(20_000);
  };
  const remove = async ({ node, manifests }: Storage, name: string): Promise<void> => {
    await manifests.remove(`${name}.yaml`);
    await node.clock.advance(20_000);
  };
  const staging = ({ driver }: Storage): string =>
    driver.calls
      .map((call) => call.split(' ')[0])
      .filter((op) => op === 'stage' || op === 'unstage')
      .join(' ');
  const isRunning = ({ node }: Storage): boolean => node.runtime.containers().some(({ state }) => state === 'running');

  for (const code of ['InvalidArgument', 'DeadlineExceeded'] as const) {
    it(`should retry NodeStage after NodeStage ${code}`, async () => {
      const storage = await begin();
      storage.driver.fail('stage', { code, times: 2 });
      await run(storage, 'one');
      assert.equal(isRunning(storage), true);
      await remove(storage, 'one');
      assert.equal(staging(storage), 'stage stage stage unstage');
    });

    it(`two pods: should call NodeStage after previous NodeUnstage ${code}`, async () => {
      const storage = await begin();
      await run(storage, 'one');
      storage.driver.fail('unstage', { code, times: 2 });
      await storage.manifests.remove('one.yaml');
      await storage.node.clock.advanceUntil(() => staging(storage).includes('unstage'), 30_000);
      await run(storage, 'two');
      assert.equal(isRunning(storage), true);
      assert.match(staging(storage), /^stage unstage (unstage )?stage$/);
      storage.driver.heal();
      await remove(storage, 'two');
      assert.match(staging(storage), /stage unstage$/);
    });
  }

  it('should call NodeUnstage after NodeStage ephemeral error', async () => {
    const storage = await begin();
    storage.driver.fail('stage', { code: 'DeadlineExceeded' });
    await run(storage, 'one');
    assert.equal(isRunning(storage), false);
    await remove(storage, 'one');
    assert.match(staging(storage), /^(stage )+unstage$/);
  });

  it('should not call NodeUnstage after NodeStage final error', async () => {
    const storage = await begin();
    storage.driver.fail('stage', { code: 'InvalidArgument' });
    await run(storage, 'one');
    await remove(storage, 'one');
    assert.match(staging(storage), /^stage( stage)*$/);
  });

  it('should not unmount the volume when its claim is going but still used by a running pod', async () => {
    const storage = await begin();
    await run(storage, 'one');
    await storage.manifests.remove('objects.yaml');
    storage.node.kill();
    storage.node.start();
    await storage.node.clock.advance(120_000);
    assert.deepEqual(
      [isRunning(storage), staging(storage).includes('unstage'), storage.driver.published.size],
      [true, false, 1],
    );
  });
});
