import type {
  CsiAnswer,
  CsiDrivers,
  CsiExpandRequest,
  CsiFailureCode,
  CsiNode,
  CsiNodeCapability,
  CsiNodeInfo,
  CsiPublishRequest,
  CsiStageRequest,
  CsiStats,
} from '../csi-drivers.ts';
import type { Clock } from '../../../base/clock.ts';
import type { FakeHostFiles } from './fake-host-files.ts';
import type { FakeMounts } from './fake-mounts.ts';

export type CsiOperation = Exclude<keyof CsiNode, never>;

interface Rule {
  readonly op: CsiOperation;
  times: number;
  /** The fault; undefined lets the call continue. */
  readonly act: (timeoutMs: number) => Promise<{ ok: false; code: CsiFailureCode; message: string } | undefined>;
  /** Whether the call takes effect and only its response is lost. */
  readonly after: boolean;
}

/** A driver on a fake host. What it stages and publishes is mounted in the fake file system. */
export class FakeCsiDriver implements CsiNode {
  capabilities: readonly CsiNodeCapability[] = ['STAGE_UNSTAGE_VOLUME'];
  info: CsiNodeInfo = { nodeId: 'node-id', maxVolumesPerNode: 0, topology: {} };
  statsAnswer: CsiStats = { usage: [], condition: undefined };
  /** Every call in order, without the values of secrets. */
  readonly calls: string[] = [];
  readonly stages: CsiStageRequest[] = [];
  readonly publishes: CsiPublishRequest[] = [];
  readonly expansions: CsiExpandRequest[] = [];
  /** What the driver considers staged and published: volumes by path. */
  readonly staged = new Map<string, string>();
  readonly published = new Map<string, string>();
  /** Whether it leaves the directory when it unpublishes, as some drivers do. */
  careless = false;
  readonly #files: FakeHostFiles;
  readonly #mounts: FakeMounts;
  readonly #rules: Rule[] = [];

  constructor(files: FakeHostFiles, mounts: FakeMounts) {
    this.#files = files;
    this.#mounts = mounts;
  }

  /**
   * Rejects the next `times` calls with a gRPC code. With `after` the call takes effect and only its response is this
   * code.
   */
  fail(op: CsiOperation, fault: { code: CsiFailureCode; message?: string; times?: number; after?: boolean }): void {
    const failure = {
      ok: false as const,
      code: fault.code,
      message: `rpc error: code = ${fault.code} desc = ${fault.message ?? 'scripted'}`,
    };
    this.#rules.push({
      op,
      times: fault.times ?? Number.POSITIVE_INFINITY,
      after: fault.after ?? false,
      act: () => Promise.resolve(failure),
    });
  }

  /** Blocks calls until the returned function is called. Then they take effect. */
  hang(op: CsiOperation): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const rule: Rule = { op, times: Number.POSITIVE_INFINITY, after: false, act: () => promise };
    this.#rules.push(rule);
    return () => {
      rule.times = 0;
      resolve(undefined);
    };
  }

  /** Leaves the next `times` calls unanswered until their time limit. They may still take effect. */
  stall(op: CsiOperation, fault: { clock: Pick<Clock, 'setTimer'>; times: number; happens: boolean }): void {
    const late = {
      ok: false as const,
      code: 'DeadlineExceeded' as const,
      message: 'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
    };
    this.#rules.push({
      op,
      times: fault.times,
      after: fault.happens,
      act: (timeoutMs) => new Promise((resolve) => void fault.clock.setTimer(timeoutMs, () => resolve(late))),
    });
  }

  /** Removes all scripted faults. */
  heal(): void {
    this.#rules.length = 0;
  }

  getInfo = (timeoutMs: number): Promise<CsiAnswer<CsiNodeInfo>> =>
    this.#call('getInfo', '', timeoutMs, () => Promise.resolve(this.info));
  getCapabilities = (timeoutMs: number): Promise<CsiAnswer<readonly CsiNodeCapability[]>> =>
    this.#call('getCapabilities', '', timeoutMs, () => Promise.resolve(this.capabilities));

  stage = (request: CsiStageRequest, timeoutMs: number): Promise<CsiAnswer<void>> =>
    this.#call('stage', request.stagingPath, timeoutMs, async () => {
      this.stages.push(request);
      this.staged.set(request.stagingPath, request.volumeId);
      if (request.capability.access.kind === 'mount')
        await this.#mountOnce(request.stagingPath, `staged:${request.volumeId}`);
    });

  unstage = ({ stagingPath }: { volumeId: string; stagingPath: string }, timeoutMs: number): Promise<CsiAnswer<void>> =>
    this.#call('unstage', stagingPath, timeoutMs, () => {
      this.staged.delete(stagingPath);
      return this.#mounts.unmount(stagingPath);
    });

  publish = (request: CsiPublishRequest, timeoutMs: number): Promise<CsiAnswer<void>> =>
    this.#call('publish', request.targetPath, timeoutMs, async () => {
      this.publishes.push(request);
      this.published.set(request.targetPath, request.volumeId);
      if (request.capability.access.kind === 'block') return this.#files.seed({ [request.targetPath]: 'block' }, true);
      await this.#files.makeDirectory(request.targetPath, 0o755);
      await this.#mountOnce(request.targetPath, `published:${request.volumeId}`);
    });

  unpublish = ({ targetPath }: { volumeId: string; targetPath: string }, timeoutMs: number): Promise<CsiAnswer<void>> =>
    this.#call('unpublish', targetPath, timeoutMs, async () => {
      this.published.delete(targetPath);
      await this.#mounts.unmount(targetPath);
      if (!this.careless) await this.#files.remove(targetPath);
    });

  expand = (request: CsiExpandRequest, timeoutMs: number): Promise<CsiAnswer<number>> =>
    this.#call('expand', request.volumePath, timeoutMs, () => {
      this.expansions.push(request);
      return Promise.resolve(request.requiredBytes);
    });

  stats = ({ volumePath }: { volumeId: string; volumePath: string }, timeoutMs: number): Promise<CsiAnswer<CsiStats>> =>
    this.#call('stats', volumePath, timeoutMs, () => Promise.resolve(this.statsAnswer));

  async #mountOnce(path: string, source: string): Promise<void> {
    if (this.#mounts.mounted.some((mount) => mount.path === path)) return;
    if ((await this.#files.lstat(path)) === undefined) throw new Error(`${path}: no such directory`);
    this.#mounts.seedMount(path, 'fake', source);
  }

  async #call<Value>(
    op: CsiOperation,
    path: string,
    timeoutMs: number,
    work: () => Promise<Value>,
  ): Promise<CsiAnswer<Value>> {
    this.calls.push(path === '' ? op : `${op} ${path}`);
    const rule = this.#rules.find((one) => one.op === op && one.times > 0);
    if (rule !== undefined) {
      rule.times--;
      if (rule.after) await work();
      const failure = await rule.act(timeoutMs);
      if (failure !== undefined) return failure;
    }
    return { ok: true, value: await work() };
  }
}

/** The drivers by the path of their socket. A connection to another path is refused. */
export class FakeCsiDrivers implements CsiDrivers {
  readonly byEndpoint = new Map<string, CsiNode>();

  node(endpoint: string): CsiNode {
    return this.byEndpoint.get(endpoint) ?? away;
  }
}

const refused = (): Promise<{ ok: false; code: CsiFailureCode; message: string }> =>
  Promise.resolve({
    ok: false,
    code: 'Unavailable',
    message: 'rpc error: code = Unavailable desc = connection refused',
  });
const away: CsiNode = {
  getInfo: refused,
  getCapabilities: refused,
  stage: refused,
  unstage: refused,
  publish: refused,
  unpublish: refused,
  expand: refused,
  stats: refused,
};
