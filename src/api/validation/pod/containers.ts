import type {
  Container,
  ContainerPort,
  ContainerResizePolicy,
  ContainerRestartRule,
  EphemeralContainer,
} from '../../core/container.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import { isRestartableInit } from '../../pod.ts';
import type { AnyContainer } from '../../pod.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import type { FieldErrors } from '../field-error.ts';
import { validateVolumeDevices, validateVolumeMounts } from './mounts.ts';
import type { VolumesByName } from './mounts.ts';
import { checkDnsLabel, checkPortName, checkPortNumber } from '../names.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { validateLifecycle, validateProbe } from './probes.ts';
import { validateResourceRequirements } from './resource-requirements.ts';
import { validateSecurityContext } from './security-context.ts';

/** The context that the validity of a container depends on. */
export interface ContainerContext {
  /** The context of the whole pod. */
  readonly pod: PodValidationContext;
  readonly spec: PodSpec;
  readonly volumes: VolumesByName;
  readonly claimNames: ReadonlySet<string>;
}

/**
 * Validates all containers of the pod, in upstream's order (validateContainers, validateInitContainers,
 * validateEphemeralContainers).
 */
export function validateAllContainers(errors: FieldErrors, path: string, context: ContainerContext): void {
  validateContainers(errors, `${path}.containers`, context);
  validateInitContainers(errors, `${path}.initContainers`, context);
  validateEphemeralContainers(errors, `${path}.ephemeralContainers`, context);
}

function validateContainers(errors: FieldErrors, path: string, context: ContainerContext): void {
  const { containers } = context.spec;
  if (containers.length === 0) return errors.required(path);
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const at = `${path}[${index}]`;
    validateCommon(errors, at, container, context);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    names.add(container.name);
    validateRunning(errors, at, container, context.spec);
    validateRestart(errors, at, container);
  }
  validateHostPorts(errors, path, containers);
}

function validateInitContainers(errors: FieldErrors, path: string, context: ContainerContext): void {
  const names = new Set(context.spec.containers.map((container) => container.name));
  for (const [index, container] of (context.spec.initContainers ?? []).entries()) {
    const at = `${path}[${index}]`;
    validateCommon(errors, at, container, context);
    validateRestart(errors, at, container);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    else if (container.name !== '') names.add(container.name);
    // Upstream hands this check a list of one, so that the index in its message is always 0.
    validateHostPorts(errors, path, [container]);
    if (container.restartPolicy === 'Always') validateRunning(errors, at, container, context.spec);
    else validateOneShot(errors, at, container, context.pod);
  }
}

/** Validates hooks and probes. Init containers that run to completion must not have any. */
function validateRunning(errors: FieldErrors, path: string, container: Container, spec: PodSpec): void {
  validateLifecycle(errors, `${path}.lifecycle`, container.lifecycle, {
    graceSeconds:
      spec.terminationGracePeriodSeconds === undefined ? undefined : Number(spec.terminationGracePeriodSeconds),
    os: spec.os?.name,
  });
  validateProbe(errors, `${path}.livenessProbe`, container.livenessProbe, 'liveness');
  validateProbe(errors, `${path}.readinessProbe`, container.readinessProbe, 'readiness');
  validateProbe(errors, `${path}.startupProbe`, container.startupProbe, 'startup');
}

function validateOneShot(errors: FieldErrors, path: string, container: Container, context: PodValidationContext): void {
  for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    if (container[field] !== undefined)
      errors.forbidden(`${path}.${field}`, 'may not be set for init containers without restartPolicy=Always');
  }
  for (const [index, policy] of (container.resizePolicy ?? []).entries()) {
    if (isRestart(policy) && !context.hadBefore('restartingInitContainer')) {
      errors.invalid(
        `${path}.resizePolicy[${index}].restartPolicy`,
        policy.restartPolicy,
        "must not be set to 'RestartContainer' for non-sidecar initContainers",
      );
    }
  }
}

const isRestart = ({ restartPolicy }: ContainerResizePolicy): boolean => restartPolicy === 'RestartContainer';

/** Upstream: hasRestartContainerForNonSidecarInitContainer. */
export function hasRestartingInitContainer({ initContainers = [] }: PodSpec): boolean {
  return initContainers.some(
    (container) => !isRestartableInit(container) && (container.resizePolicy ?? []).some(isRestart),
  );
}

const allowedForEphemeral = new Set([
  ...[
    'name',
    'image',
    'command',
    'args',
    'workingDir',
    'envFrom',
    'env',
    'volumeMounts',
    'volumeDevices',
    'terminationMessagePath',
    'terminationMessagePolicy',
  ],
  ...['imagePullPolicy', 'securityContext', 'stdin', 'stdinOnce', 'tty', 'targetContainerName'],
]);
const containerFieldOrder = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

function validateEphemeralContainers(errors: FieldErrors, path: string, context: ContainerContext): void {
  const others = new Set(
    [...context.spec.containers, ...(context.spec.initContainers ?? [])].map((container) => container.name),
  );
  const names = new Set(others);
  for (const [index, container] of (context.spec.ephemeralContainers ?? []).entries()) {
    const at = `${path}[${index}]`;
    validateCommon(errors, at, container, context);
    validateImagePadding(errors, at, container);
    if (names.has(container.name)) errors.duplicate(`${at}.name`, container.name);
    names.add(container.name);
    if (container.targetContainerName && !others.has(container.targetContainerName))
      errors.notFound(`${at}.targetContainerName`, container.targetContainerName);
    validateEphemeralFields(errors, at, container);
  }
}

function validateEphemeralFields(errors: FieldErrors, path: string, container: EphemeralContainer): void {
  const message = 'cannot be set for an Ephemeral Container';
  for (const field of containerFieldOrder) {
    if (!allowedForEphemeral.has(field) && !isEmpty(container[field])) errors.forbidden(`${path}.${field}`, message);
  }
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    if (mount.subPath) errors.forbidden(`${path}.volumeMounts[${index}].subPath`, message);
    if (mount.subPathExpr) errors.forbidden(`${path}.volumeMounts[${index}].subPathExpr`, message);
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** Space around an image name is only refused in pods, not in templates. */
export function validateImagePadding(errors: FieldErrors, path: string, container: AnyContainer): void {
  const image = container.image ?? '';
  if (image !== image.trim()) errors.invalid(`${path}.image`, image, 'must not have leading or trailing whitespace');
}

function validateCommon(errors: FieldErrors, path: string, container: AnyContainer, context: ContainerContext): void {
  if (container.name === '') errors.required(`${path}.name`);
  else errors.invalidEach(`${path}.name`, container.name, checkDnsLabel(container.name));
  if (!container.image) errors.required(`${path}.image`);
  if (!container.terminationMessagePolicy) errors.required(`${path}.terminationMessagePolicy`);
  else
    errors.oneOf(`${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]);
  validatePorts(errors, `${path}.ports`, container.ports ?? []);
  validateEnv(errors, `${path}.env`, container.env ?? []);
  validateEnvFrom(errors, `${path}.envFrom`, container.envFrom ?? []);
  validateVolumeMounts(errors, `${path}.volumeMounts`, container, context.volumes);
  validateVolumeDevices(errors, `${path}.volumeDevices`, container, context.volumes);
  validatePullPolicy(errors, `${path}.imagePullPolicy`, container.imagePullPolicy);
  validateResourceRequirements(errors, `${path}.resources`, container.resources ?? {}, {
    level: 'container',
    claimNames: context.claimNames,
    anyHugePages: context.pod.hadBefore('indivisibleHugePages'),
  });
  validateResizePolicy(errors, `${path}.resizePolicy`, container.resizePolicy ?? [], context.spec.restartPolicy);
  validateSecurityContext(errors, `${path}.securityContext`, container.securityContext, {
    ownUsers: context.spec.hostUsers === false,
    policy: context.pod.policy,
  });
}

export function validatePullPolicy(errors: FieldErrors, field: string, policy: string | undefined): void {
  if (!policy) errors.required(field);
  else errors.oneOf(field, policy, ['Always', 'IfNotPresent', 'Never']);
}

function validatePorts(errors: FieldErrors, path: string, ports: readonly ContainerPort[]): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const at = `${path}[${index}]`;
    if (port.name) {
      const complaints = checkPortName(port.name);
      errors.invalidEach(`${at}.name`, port.name, complaints);
      if (complaints.length === 0 && names.has(port.name)) errors.duplicate(`${at}.name`, port.name);
      if (complaints.length === 0) names.add(port.name);
    }
    if (port.containerPort === 0) errors.required(`${at}.containerPort`);
    else errors.invalidEach(`${at}.containerPort`, port.containerPort, checkPortNumber(port.containerPort));
    if (port.hostPort) errors.invalidEach(`${at}.hostPort`, port.hostPort, checkPortNumber(port.hostPort));
    if (!port.protocol) errors.required(`${at}.protocol`);
    else errors.oneOf(`${at}.protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

function validateHostPorts(errors: FieldErrors, path: string, containers: readonly Container[]): void {
  const taken = new Set<string>();
  for (const [index, container] of containers.entries()) {
    for (const [position, port] of (container.ports ?? []).entries()) {
      if (!port.hostPort) continue;
      const key = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(key)) errors.duplicate(`${path}[${index}].ports[${position}].hostPort`, key);
      taken.add(key);
    }
  }
}

function validateResizePolicy(
  errors: FieldErrors,
  path: string,
  policies: readonly ContainerResizePolicy[],
  podRestartPolicy: string | undefined,
): void {
  const seen = new Set<string>();
  for (const [index, policy] of policies.entries()) {
    if (seen.has(policy.resourceName)) errors.duplicate(`${path}[${index}]`, policy.resourceName);
    seen.add(policy.resourceName);
    if (policy.resourceName === '') errors.required(path);
    else errors.oneOf(path, policy.resourceName, ['cpu', 'memory']);
    if (!policy.restartPolicy) errors.required(path);
    else errors.oneOf(path, policy.restartPolicy, ['NotRequired', 'RestartContainer']);
    if (podRestartPolicy === 'Never' && policy.restartPolicy !== 'NotRequired') {
      errors.invalid(path, policy.restartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
    }
  }
}

const MAX_RESTART_RULES = 20;
const MAX_EXIT_CODES = 255;

/** Validates a container's restart policy, and the rules that override it by exit code. */
function validateRestart(errors: FieldErrors, path: string, container: Container): void {
  const rules = container.restartPolicyRules ?? [];
  if (container.restartPolicy === undefined) {
    if (rules.length === 0) return;
    errors.required(`${path}.restartPolicy`, 'must specify restartPolicy when restart rules are used');
    // For init containers upstream stops here, for the others it looks at the rules too.
    if (path.includes('.initContainers[')) return;
  } else errors.oneOf(`${path}.restartPolicy`, container.restartPolicy, ['Always', 'Never', 'OnFailure']);
  if (rules.length > MAX_RESTART_RULES) errors.tooMany(`${path}.restartPolicyRules`, rules.length, MAX_RESTART_RULES);
  for (const [index, rule] of rules.entries())
    validateRestartRule(errors, `${path}.restartPolicyRules[${index}]`, rule);
}

function validateRestartRule(errors: FieldErrors, path: string, rule: ContainerRestartRule): void {
  errors.oneOf(`${path}.action`, rule.action ?? '', ['Restart', 'RestartAllContainers']);
  if (rule.exitCodes === undefined) return errors.required(`${path}.exitCodes`, 'must be specified');
  errors.oneOf(`${path}.exitCodes.operator`, rule.exitCodes.operator ?? '', ['In', 'NotIn']);
  const count = (rule.exitCodes.values ?? []).length;
  if (count > MAX_EXIT_CODES) errors.tooMany(`${path}.exitCodes.values`, count, MAX_EXIT_CODES);
}
