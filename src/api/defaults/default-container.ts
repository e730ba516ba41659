import type { Container, EnvVar, PullPolicy } from '../core/container.ts';
import type { HTTPGetAction, Probe } from '../core/probe.ts';
import type { ResourceList } from '../core/resource-requirements.ts';
import { parseImageName } from '../image-name.ts';
import type { AnyContainer } from '../pod.ts';
import { roundUpToMilli } from '../quantity.ts';

/** Sets the defaults of the API server in place (upstream: core/v1/defaults.go and its generated callers). */
export function defaultContainerInPlace(container: AnyContainer): void {
  container.imagePullPolicy ||= pullPolicyFor(container.image ?? '');
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  // Upstream's type has no absent `resources`, and the API server prints it as {}.
  container.resources ??= {};
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const variable of container.env ?? []) defaultEnvInPlace(variable);
  roundListInPlace(container.resources.limits);
  roundListInPlace(container.resources.requests);
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    defaultProbeInPlace(probe);
  defaultHttpInPlace(container.lifecycle?.postStart?.httpGet);
  defaultHttpInPlace(container.lifecycle?.preStop?.httpGet);
}

/** Always for the tag `latest`, explicit or implied. IfNotPresent for other tags, and for an invalid reference. */
export function pullPolicyFor(image: string): PullPolicy {
  return parseImageName(image)?.tag === 'latest' ? 'Always' : 'IfNotPresent';
}

/** Sets missing requests to the limits. */
export function requestFromLimitInPlace(container: Container): void {
  const { limits } = container.resources ?? {};
  if (limits === undefined || container.resources === undefined) return;
  container.resources.requests = { ...limits, ...container.resources.requests };
}

/** Rounds quantities up to thousandths. */
export function roundListInPlace(list: ResourceList | undefined): void {
  if (list === undefined) return;
  for (const name of Object.keys(list)) list[name] = roundUpToMilli(list[name] ?? '0');
}

function defaultEnvInPlace(variable: EnvVar): void {
  const source = variable.valueFrom;
  if (source?.fieldRef !== undefined) source.fieldRef.apiVersion ||= 'v1';
  if (source?.fileKeyRef !== undefined) source.fileKeyRef.optional ??= false;
  // A divisor that is not given counts as "0" upstream, which means 1 of the resource's own unit.
  if (source?.resourceFieldRef !== undefined) source.resourceFieldRef.divisor ??= '0';
}

function defaultProbeInPlace(probe: Probe | undefined): void {
  if (probe === undefined) return;
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpInPlace(probe.httpGet);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

function defaultHttpInPlace(action: HTTPGetAction | undefined): void {
  if (action === undefined) return;
  action.path ||= '/';
  action.scheme ||= 'HTTP';
}

/** A copy with rounded quantities. */
export function roundList(list: ResourceList): ResourceList {
  const copy = { ...list };
  roundListInPlace(copy);
  return copy;
}
