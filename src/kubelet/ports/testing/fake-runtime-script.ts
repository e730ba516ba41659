import type { ErrorKind } from '../../../base/errors.ts';

/** The result of an exec in a fake container. */
export interface ExecScriptResult {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  /** How long the command runs, in milliseconds; `Infinity` hangs until the caller's limit. */
  readonly afterMs?: number;
}

export interface ContainerIdentity {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
  readonly name: string;
  readonly attempt: number;
  readonly image: string;
  /** Command and arguments. */
  readonly command: readonly string[];
}

/** How the process in a container behaves. */
export interface ContainerScript {
  /** Exits on its own that long after its start; absent: runs until stopped. */
  readonly exitAfterMs?: number;
  /** Exit code of an exit on its own; 0 unless given. */
  readonly exitCode?: number;
  /** The exit on its own is an OOM kill (137, reason OOMKilled). */
  readonly oomKilled?: boolean;
  /** The memory usage it reports; 0 unless given. */
  readonly memoryBytes?: number;
  /** Exit code after SIGTERM; 143 unless given. */
  readonly termExitCode?: number;
  /** From SIGTERM to the exit; 5 ms unless given. Longer than the grace period leads to SIGKILL. */
  readonly stopMs?: number;
  readonly ignoresTerm?: boolean;
  /** StartContainer fails with this message and the container ends with 128, StartError. */
  readonly failStart?: string;
  /** Serves (see FakeRuntime.isServing) and lets default execs succeed only that long after its start. */
  readonly readyAfterMs?: number;
  readonly exec?: (command: readonly string[], sinceStartMs: number) => ExecScriptResult;
}

export type ContainerScriptSource = ContainerScript | ((container: ContainerIdentity) => ContainerScript);

/** Everything the fake can be scripted for; the names are those of the ports' methods. */
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
 * Virtual milliseconds per call; a call that is not listed takes no time (and costs no timer). Measured on containerd
 * 1.6 where noted.
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

/** Client deadlines by operation when a call has none (upstream: cri-client); 0 means none. */
export function defaultLimitMs(op: FakeOp): number {
  if (op === 'pullImage') return 0;
  return op === 'runSandbox' ? 240_000 : 120_000;
}

/** The subject of a call, as far as it is known. Fault rules match on it and the journal shows it. */
export interface CallTarget {
  readonly podUid?: string;
  /** Container name in the pod. */
  readonly container?: string;
  readonly attempt?: number;
  /** Container or sandbox id. */
  readonly id?: string;
  readonly image?: string;
}

export interface FaultScope {
  /** How many calls it affects; unlimited if absent. */
  readonly times?: number;
  /** Which calls it affects; all of the operation if absent. */
  readonly match?: (target: CallTarget) => boolean;
}

export type Fault =
  | { kind: 'fail'; errorKind: ErrorKind; message: string }
  /** Never completes and has no effect; ends with the caller's abort or deadline. */
  | { kind: 'hang'; keepsNameMs: number }
  /**
   * Takes effect, and the caller sees a Timeout; `effectAfterMs` delays the effect to that long after the caller timed
   * out.
   */
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

/** Scripted faults, taken in the order they were scripted. */
export class ScriptedFaults {
  #rules: FaultRule[] = [];

  /** Returns a function that removes the fault. */
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
