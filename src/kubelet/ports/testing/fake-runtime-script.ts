import type { ErrorKind } from '../../../base/errors.ts';

/** The result of an exec in a fake container. */
export interface ExecScriptResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** How long the command runs, in milliseconds. `Infinity` hangs until the caller's limit. */
  readonly afterMs?: number;
}

export interface ContainerIdentity {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  /** The command and its arguments. */
  readonly command: readonly string[];
}

/** How the process in a container behaves. */
export interface ContainerScript {
  /** How long after its start the container exits; if absent, it runs until it is stopped. */
  readonly exitAfterMs?: number;
  /** The code of that exit; default 0. */
  readonly exitCode?: number;
  /** Whether that exit is an OOM kill (137, reason OOMKilled). */
  readonly oomKilled?: boolean;
  /** The reported memory usage; default 0. */
  readonly memoryBytes?: number;
  /** The exit code after SIGTERM; default 143. */
  readonly termExitCode?: number;
  /** The time from SIGTERM to the exit; default 5 ms. If it exceeds the grace period, SIGKILL follows. */
  readonly stopMs?: number;
  readonly ignoresTerm?: boolean;
  /** Makes StartContainer fail with this message. The container ends with 128, StartError. */
  readonly failStart?: string;
  /** How long after its start the container begins to serve (see FakeRuntime.isServing) and default execs succeed. */
  readonly readyAfterMs?: number;
  readonly exec?: (command: readonly string[], sinceStartMs: number) => ExecScriptResult;
}

export type ContainerScriptSource = ContainerScript | ((container: ContainerIdentity) => ContainerScript);

/** All operations that tests can script, with the names of the ports' methods. */
export type FakeOp =
  | 'version'
  | 'status'
  | 'cgroupDriver'
  | 'updatePodCidr'
  | 'listSandboxes'
  | 'sandboxStatus'
  | 'runSandbox'
  | 'stopSandbox'
  | 'removeSandbox'
  | 'listContainers'
  | 'containerStatus'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'updateContainerResources'
  | 'updateSandboxResources'
  | 'containerMemoryBytes'
  | 'reopenContainerLog'
  | 'execSync'
  | 'execUrl'
  | 'attachUrl'
  | 'portForwardUrl'
  | 'checkpointContainer'
  | 'listImages'
  | 'imageStatus'
  | 'pullImage'
  | 'removeImage'
  | 'imageFsInfo';

export const WRITE_OPS: ReadonlySet<FakeOp> = new Set<FakeOp>([
  'updatePodCidr',
  'runSandbox',
  'stopSandbox',
  'removeSandbox',
  'createContainer',
  'startContainer',
  'stopContainer',
  'removeContainer',
  'updateContainerResources',
  'updateSandboxResources',
  'pullImage',
  'removeImage',
]);

/**
 * Virtual milliseconds per call. A call that is not listed takes no time and needs no timer. Values marked as such were
 * measured with containerd 1.6.
 */
export type Latencies = Partial<Record<FakeOp, number>>;
export const DEFAULT_LATENCIES: Latencies = {
  runSandbox: 200,
  stopSandbox: 60,
  removeSandbox: 20,
  createContainer: 30,
  startContainer: 60,
  removeContainer: 20,
  pullImage: 500,
};

/** Returns the client deadline of an operation for a call without one (upstream: cri-client); 0 means none. */
export function defaultLimitMs(op: FakeOp): number {
  if (op === 'pullImage') return 0;
  return op === 'runSandbox' ? 240_000 : 120_000;
}

/** The known subject of a call, for matching faults and for the journal. */
export interface CallTarget {
  readonly podUid?: string;
  /** The name of the container in the pod. */
  readonly container?: string;
  readonly attempt?: number;
  /** The id of the container or sandbox. */
  readonly id?: string;
  readonly image?: string;
}

export interface FaultScope {
  /** The number of affected calls; unlimited if absent. */
  readonly times?: number;
  /** Selects the affected calls; all of the operation if absent. */
  readonly match?: (target: CallTarget) => boolean;
}

export type Fault =
  | { kind: 'fail'; errorKind: ErrorKind; message: string }
  /** Never completes and has no effect. It ends with the caller's abort or deadline. */
  | { kind: 'hang'; keepsNameMs: number }
  /** Takes effect, but the caller sees a Timeout. The effect happens `effectAfterMs` after that. */
  | { kind: 'lateSuccess'; effectAfterMs: number }
  | { kind: 'delay'; ms: number }
  /** Reads the state when called and delivers it `ms` later. */
  | { kind: 'staleRead'; ms: number };

interface FaultRule {
  readonly op: FakeOp;
  readonly fault: Fault;
  left: number;
  readonly match: (target: CallTarget) => boolean;
}

/** Scripted faults, used in the order in which they were added. */
export class ScriptedFaults {
  #rules: FaultRule[] = [];

  /** Adds a fault. Returns a function that removes it. */
  add(op: FakeOp, fault: Fault, scope: FaultScope): () => void {
    const rule: FaultRule = { op, fault, left: scope.times ?? Infinity, match: scope.match ?? ((): boolean => true) };
    this.#rules.push(rule);
    return () => {
      this.#rules = this.#rules.filter((other) => other !== rule);
    };
  }

  clear(): void {
    this.#rules = [];
  }

  take(op: FakeOp, target: CallTarget): Fault | undefined {
    if (this.#rules.length === 0) return undefined;
    const rule = this.#rules.find((candidate) => candidate.op === op && candidate.match(target));
    if (rule === undefined) return undefined;
    rule.left--;
    if (rule.left <= 0) this.#rules = this.#rules.filter((other) => other !== rule);
    return rule.fault;
  }
}
