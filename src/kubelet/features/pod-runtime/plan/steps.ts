import type { ContainerId, SandboxId } from '../../../model/ids.ts';
import { unreachable } from '../../../../base/errors.ts';

/** The role of a container in its pod. It decides order, restarts and dependencies. */
export type ContainerRole = 'init' | 'sidecar' | 'regular' | 'ephemeral';

/** The reason for a kill, which decides the grace period (upstream: kuberuntime_manager.go containerKillReason). */
export type KillReason =
  | 'StartupProbe'
  | 'LivenessProbe'
  | 'FailedPostStartHook'
  | 'RestartAllContainers'
  | 'DefinitionChanged'
  | 'Unknown';

/** The reason for a new sandbox (upstream: kuberuntime/util PodSandboxChanged). */
export type SandboxReason = 'new-pod' | 'several-ready' | 'not-ready' | 'network-mode-changed' | 'no-ip';

/** The parameters of each kind of step. */
export interface StepArgs {
  /** Stops every running container and every sandbox, with the pod's own grace. */
  readonly killPod: { reason: 'sandbox-changed' | 'nothing-to-run'; graceMs: number };
  readonly createSandbox: { attempt: number; reason: SandboxReason };
  /** Kills a container. Without `graceMs`, the grace period is the pod's or the probe's own. */
  readonly killContainer: { id: ContainerId; name: string; reason: KillReason; message: string; graceMs?: number };
  /** Removes a container. `keepLogs` keeps the log files, whose numbers carry the restart count. */
  readonly removeContainer: {
    id: ContainerId;
    name: string;
    reason: 'prune' | 'purge' | 'restart-all';
    keepLogs: boolean;
  };
  /**
   * Brings the pod's own cgroup to the pod's allocation: increases (`raise`) before those of its containers, decreases
   * (`lower`) after them. `lowered` are containers about to get a lower memory limit: their usage must already be below
   * it.
   */
  readonly resizePod: {
    resource: 'memory' | 'cpu';
    phase: 'raise' | 'lower';
    lowered: readonly { id: ContainerId; name: string; limitBytes: number }[];
  };
  /** Gives a running container new CPU or memory. */
  readonly resizeContainer: { id: ContainerId; name: string; resource: 'memory' | 'cpu' };
  /**
   * Starts a container. `attempt` is one more than the newest attempt in the runtime, or 0 if the runtime knows none.
   * Then the executor raises it above the log files, because a runtime that lost its state must not append to an old
   * log.
   */
  readonly startContainer: {
    name: string;
    role: ContainerRole;
    attempt: number /** Created earlier and never started: only start it. */;
    adopt?: ContainerId;
  };
}

export type StepKind = keyof StepArgs;
/** One decision as data. It can be printed before it runs, recorded and replayed. */
export type Step = { [K in StepKind]: { kind: K } & StepArgs[K] }[StepKind];
export type StepOf<K extends StepKind> = Extract<Step, { kind: K }>;

/**
 * A container that will be started later. `untilMs` is wall time; `waitMs` was the remaining time when this was
 * computed.
 */
export interface Wait {
  readonly container: string;
  readonly untilMs: number;
  readonly waitMs: number;
  /** The whole delay, of which this wait is the remaining part. */
  readonly delayMs: number;
  readonly why: 'CrashLoopBackOff';
}

const sandboxReasons: Readonly<Record<SandboxReason, string>> = {
  'new-pod': 'the pod has none',
  'several-ready': 'more than one is ready',
  'not-ready': 'the newest one is not ready',
  'network-mode-changed': 'the pod changed between its own and the host network',
  'no-ip': 'the existing one has no IP address',
};

const removeReasons: Readonly<Record<StepArgs['removeContainer']['reason'], string>> = {
  prune: 'a newer run of the same init container exists',
  purge: 'init containers run again in the new sandbox',
  'restart-all': 'all containers of the pod restart',
};

const roleNames: Readonly<Record<ContainerRole, string>> = {
  init: 'init container',
  sidecar: 'sidecar',
  regular: 'container',
  ephemeral: 'ephemeral container',
};

const resourceNames: Readonly<Record<StepArgs['resizePod']['resource'], string>> = { memory: 'memory', cpu: 'CPU' };

/** Describes a step as one sentence, for `kubelet explain` and `kubelet plan`. */
export function describeStep(step: Step): string {
  switch (step.kind) {
    case 'killPod':
      return step.reason === 'sandbox-changed'
        ? `Stop all containers and the sandbox within ${seconds(step.graceMs)}, because the sandbox must be created again.`
        : `Stop the sandbox within ${seconds(step.graceMs)}, because no container of the pod is left to run.`;
    case 'createSandbox':
      return `Create sandbox number ${step.attempt}, because ${sandboxReasons[step.reason]}.`;
    case 'killContainer':
      return `Kill container ${step.name}${step.graceMs === undefined ? '' : ` within ${seconds(step.graceMs)}`}: ${step.message}.`;
    case 'removeContainer':
      return `Remove the ended container ${step.name} (${shortId(step.id)}), because ${removeReasons[step.reason]}.`;
    case 'resizePod':
      return `${step.phase === 'raise' ? 'Raise' : 'Lower'} the ${resourceNames[step.resource]} of the pod's cgroup as far as its allocated resources require.`;
    case 'resizeContainer':
      return `Give container ${step.name} its new ${resourceNames[step.resource]}, without a restart.`;
    case 'startContainer':
      return step.attempt === 0
        ? `Start ${roleNames[step.role]} ${step.name}.`
        : `Start ${roleNames[step.role]} ${step.name} again (restart ${step.attempt}).`;
    default:
      return unreachable(step);
  }
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}

/** Shortens a runtime ID so that users can still find it. */
function shortId(id: ContainerId | SandboxId): string {
  return id.slice(0, 12);
}

/** Returns the key under which a sync remembers a step of a resize that it tried. */
export function resizeKey(step: StepOf<'resizePod' | 'resizeContainer'>): string {
  return step.kind === 'resizePod'
    ? `${step.kind} ${step.resource} ${step.phase}`
    : `${step.kind} ${step.resource} ${step.id}`;
}
