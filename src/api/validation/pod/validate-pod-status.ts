import type { Container } from '../../core/container.ts';
import type { Pod } from '../../core/pod.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import type { ContainerStatus, PodCondition } from '../../core/pod-status.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import type { ClusterPolicy } from '../cluster-policy.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkDnsSubdomain, checkLabelKey, checkStrictIp, isIpv6Text } from '../names.ts';
import { createPodContext } from './old-faults.ts';
import { validatePodAnnotations } from './pod-annotations.ts';
import { validateAnnotationChanges } from './validate-pod-update.ts';

const systemConditions: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** Validates an update of a pod's status (upstream: core/validation ValidatePodStatusUpdate). */
export function validatePodStatusUpdate(pod: Pod, old: Pod, policy: ClusterPolicy): readonly FieldError[] {
  const errors = new FieldErrors();
  const status = pod.status ?? {};
  const before = old.status ?? {};
  validateAnnotationChanges(errors, pod, old);
  validatePodAnnotations(errors, pod, createPodContext(policy, old));
  validateConditions(errors, status.conditions ?? []);
  if ((pod.spec.nodeName ?? '') !== (old.spec.nodeName ?? ''))
    errors.forbidden('status.nodeName', 'may not be changed directly');
  validateNomination(errors, pod, old);
  if ((status.observedGeneration ?? 0) < 0)
    errors.invalid('status.observedGeneration', status.observedGeneration, 'must be a non-negative integer');
  if ((status.qosClass ?? '') !== (before.qosClass ?? ''))
    errors.invalid('status.qosClass', status.qosClass ?? '', 'field is immutable');
  validateTransitions(errors, pod, old);
  validateIps(errors, 'status.podIPs', status.podIPs ?? [], before.podIPs ?? []);
  const hostIps = status.hostIPs ?? [];
  if (hostIps.length > 0 && hostIps[0]?.ip !== (status.hostIP ?? ''))
    errors.invalid('status.hostIPs[0].ip', hostIps[0]?.ip, 'must be equal to `hostIP`');
  validateIps(errors, 'status.hostIPs', hostIps, before.hostIPs ?? []);
  return errors.list;
}

function validateConditions(errors: FieldErrors, conditions: readonly PodCondition[]): void {
  for (const [index, { type, observedGeneration = 0 }] of conditions.entries()) {
    const at = `status.conditions[${index}]`;
    if (observedGeneration < 0)
      errors.invalid(`${at}.observedGeneration`, observedGeneration, 'must be a non-negative integer');
    if (!systemConditions.has(type)) errors.invalidEach(`${at}.Type`, type, checkLabelKey(type));
  }
}

function validateNomination(errors: FieldErrors, pod: Pod, old: Pod): void {
  const field = 'status.nominatedNodeName';
  const { nominatedNodeName: name = '' } = pod.status ?? {};
  if (name === '' || name === old.status?.nominatedNodeName) return;
  errors.invalidEach(field, name, checkDnsSubdomain(name));
  if (old.spec.nodeName) errors.forbidden(field, 'may not be set on pods that are already bound to a node');
}

/** A container that has ended and must not restart stays ended. */
function validateTransitions(errors: FieldErrors, pod: Pod, old: Pod): void {
  const { spec } = old;
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const anyRestartsAll = all.some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
  for (const [field, containers] of [
    ['containerStatuses', spec.containers],
    ['initContainerStatuses', spec.initContainers ?? []],
  ] as const) {
    if (anyRestartsAll) break;
    const byName = new Map(containers.map((container) => [container.name, container]));
    validateOneWay(
      errors,
      { field, now: pod.status?.[field] ?? [], before: old.status?.[field] ?? [] },
      ({ name, exitCode }) => {
        const container = byName.get(name);
        return container !== undefined && mayRestart(container, spec, exitCode);
      },
    );
  }
  validateOneWay(
    errors,
    {
      field: 'ephemeralContainerStatuses',
      now: pod.status?.ephemeralContainerStatuses ?? [],
      before: old.status?.ephemeralContainerStatuses ?? [],
    },
    () => false,
  );
}

interface StatusLists {
  readonly field: string;
  readonly now: readonly ContainerStatus[];
  readonly before: readonly ContainerStatus[];
}

function validateOneWay(
  errors: FieldErrors,
  { field, now, before }: StatusLists,
  restarts: (ended: { name: string; exitCode: number }) => boolean,
): void {
  const byName = new Map(now.map((status) => [status.name, status]));
  for (const [index, { name, state }] of before.entries()) {
    if (state?.terminated === undefined) continue;
    const after = byName.get(name);
    if (
      after === undefined ||
      after.state?.terminated !== undefined ||
      restarts({ name, exitCode: state.terminated.exitCode })
    )
      continue;
    errors.forbidden(`status.${field}[${index}].state`, 'may not be transitioned to non-terminated state');
  }
}

/** Upstream: api/v1/pod ContainerShouldRestart. */
function mayRestart({ restartPolicy, restartPolicyRules = [] }: Container, spec: PodSpec, exitCode: number): boolean {
  const matches = restartPolicyRules.some(
    ({ exitCodes }) =>
      exitCodes !== undefined && (exitCodes.values ?? []).includes(exitCode) === (exitCodes.operator === 'In'),
  );
  const policy = restartPolicy ?? spec.restartPolicy;
  if (restartPolicy !== undefined && matches) return true;
  return policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never';
}

function validateIps(
  errors: FieldErrors,
  field: string,
  ips: readonly { readonly ip: string }[],
  before: readonly { readonly ip: string }[],
): void {
  if (semanticEqual(ips, before)) return;
  const known = new Set(before.map(({ ip }) => ip));
  for (const [index, { ip }] of ips.entries())
    if (!known.has(ip)) errors.invalidEach(`${field}[${index}]`, ip, checkStrictIp(ip));
  if (ips.length > 2 || (ips.length === 2 && isIpv6Text(ips[0]?.ip ?? '') === isIpv6Text(ips[1]?.ip ?? '')))
    errors.invalid(field, ips, 'may specify no more than one IP for each IP family');
}
