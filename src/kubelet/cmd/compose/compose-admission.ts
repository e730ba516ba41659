import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod } from '../../../api/pod.ts';
import { judgeAdmission, type ChainOptions } from '../../features/admission/admission-chain.ts';
import { AdmissionDesk } from '../../features/admission/admission-desk.ts';
import type { AdmissionStep } from '../../features/admission/admission-step.ts';
import { createHookStep } from '../../features/admission/hook-folder.ts';
import { tellsOfRejection } from '../../features/admission/standing.ts';
import type { PodWorkers } from '../../features/pod-workers/pod-workers.ts';
import { unsupportedFields } from '../../model/parity/unsupported-fields.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import { checkAppArmor } from '../../model/security-checks.ts';
import { checkSysctls, sysctlAllowList } from '../../model/sysctls.ts';
import type { FeatureContext, LoopContext } from './compose-context.ts';

type Workers = Pick<PodWorkers, 'stateOf' | 'kill'>;

/** What admission needs of the resources that were granted to pods; without it each pod has what it asks for. */
export interface Grants {
  granted: (pod: Pod) => Pod;
  onAdmitted: (pod: Pod) => void;
}

export function composeAdmission(context: LoopContext & { grants?: Grants }, workers: () => Workers): AdmissionDesk {
  const { world, records, knowledge, actors, links, grants } = context;
  const { store, cache, recorder, node } = knowledge;
  const options = chainOptions(context);
  const granted = grants?.granted ?? ((pod: Pod): Pod => pod);
  return new AdmissionDesk({
    judge: (question) => judgeAdmission(question, options),
    steps: stepsOf(context),
    stepsOf: supportStep,
    node: () => node.object(actors.monitor.health),
    livePods: () =>
      store
        .pods()
        .filter((pod) => isLive(context, workers(), pod))
        .map(granted),
    pod: (uid) => store.byUid(uid),
    hasRun: ({ metadata }) => {
      const status = cache.get(podUid(metadata.uid));
      return (
        !cache.isRead(podUid(metadata.uid)) ||
        (status !== undefined && status.containers.length + status.sandboxes.length > 0)
      );
    },
    hasEnded: (pod) => hasEnded(context, pod),
    granted,
    onAdmitted: (pod) => grants?.onAdmitted(pod),
    record: records.admitted,
    saved: () => records.saveAdmitted(),
    stop: (uid) => workers().kill(uid, { cause: 'evicted' }),
    hasStopped: (uid) => hasStopped(workers(), uid),
    onChange: (uid) => {
      links.refreshStatus(uid);
      links.post({ kind: 'sync', uids: [uid] });
    },
    recorder,
    clock: world.clock,
    log: world.log,
  });
}

function chainOptions({ settings, world }: FeatureContext): ChainOptions {
  const sysctls = sysctlAllowList(settings.config.runtime.allowedUnsafeSysctls, world.machine.kernelVersion);
  return {
    checks: {
      sysctls: ({ pod }) => checkSysctls(pod, sysctls),
      // Upstream asks only about pods that are still to start.
      appArmor: ({ pod }) => checkAppArmor(pod, world.machine),
    },
    standalone: world.cluster === undefined,
    podLevelResources: settings.config.gates.enabled('PodLevelResources'),
    taintComparisons: settings.config.gates.enabled('TaintTolerationComparisonOperators'),
  };
}

/** A manifest that asks for what is not there yet is refused; a pod of the API waits, and says what for: it would be broken, or less isolated than asked. */
function supportStep(pod: Pod): AdmissionStep[] {
  const missing = unsupportedFields(pod).filter(({ severity }) => severity === 'reject');
  if (missing.length === 0) return [];
  const why = missing.map(({ path, note }) => `${path}: ${note}`).join('; ');
  return [{ name: 'this agent', admit: () => ({ kind: 'hold', why: `not supported yet: ${why}` }) }];
}

function stepsOf({ settings, world }: FeatureContext): AdmissionStep[] {
  const { steps = [], hooks } = settings.admission ?? {};
  return hooks === undefined
    ? [...steps]
    : [
        ...steps,
        createHookStep({ ...hooks, files: world.guardedFiles, processes: world.processes, clock: world.clock }),
      ];
}

function hasStopped(workers: Workers, uid: PodUid): boolean {
  const phase = workers.stateOf(uid)?.phase;
  return phase === undefined || phase === 'terminated' || phase === 'finished';
}

const isTerminal = (phase: string | undefined): boolean => phase === 'Failed' || phase === 'Succeeded';

/**
 * Upstream: filterOutInactivePods. A pod that is over has its place for as long as a container of it runs; upstream keeps its place until the
 * pod is stopped as a whole, and turns away pods that were made the moment it was said to be over.
 */
function isLive({ records, knowledge }: FeatureContext, workers: Workers, pod: Pod): boolean {
  const uid = podUid(pod.metadata.uid);
  const phase = workers.stateOf(uid)?.phase;
  if (phase === 'terminated' || phase === 'finished') return false;
  if (!isTerminal(records.statuses.get(uid)?.phase ?? pod.status?.phase)) return true;
  return (
    phase === 'terminating' && knowledge.cache.get(uid)?.containers.some(({ state }) => state === 'running') === true
  );
}

/**
 * Whether an earlier run of the agent, or the API server, has said that the pod is over. A static pod that was turned away is judged anew by
 * the next run of the agent, as upstream does, for what kept it out may be what the agent was started anew for.
 */
function hasEnded({ records }: FeatureContext, pod: Pod): boolean {
  const uid = podUid(pod.metadata.uid);
  const known = records.statuses.get(uid);
  if (isStaticPod(pod) && tellsOfRejection(known)) {
    records.statuses.forget(uid);
    return false;
  }
  return isTerminal(pod.status?.phase) || isTerminal(known?.phase);
}
