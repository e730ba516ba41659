import {
  cronJobs,
  daemonSets,
  deployments,
  jobs,
  namespaces,
  pods,
  replicaSets,
  replicationControllers,
  statefulSets,
} from '../../../api/client/resource-types.ts';
import type { ObjectMeta } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import { internalError, invalid } from '../../../api/status/api-status-error.ts';
import { formatInvalid } from '../../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { isAbout, objectOf, oldObjectOf, refusal } from '../attributes.ts';
import { judged } from './check.ts';
import { describeViolations, violationsOf } from './evaluate.ts';
import { warningsOfExisting } from './existing-pods.ts';
import {
  formatLevel,
  isEquivalent,
  isFullyPrivileged,
  isSame,
  isStricter,
  LABEL_PREFIX,
  readPolicy,
} from './policy.ts';
import type { LevelVersion, Mode, Policy, ReadPolicy } from './policy.ts';

export interface PodSecuritySettings {
  /** The defaults for namespaces without labels. */
  readonly defaults: Policy;
  readonly exemptions: {
    readonly usernames: readonly string[];
    readonly runtimeClasses: readonly string[];
    readonly namespaces: readonly string[];
  };
}

const latest = (level: LevelVersion['level']): LevelVersion => ({ level, minor: Infinity });

export const podSecurityDefaults: PodSecuritySettings = {
  defaults: { enforce: latest('privileged'), audit: latest('privileged'), warn: latest('privileged') },
  exemptions: { usernames: [], runtimeClasses: [], namespaces: [] },
};

/** Kinds with a pod template. */
const templated = [deployments, replicaSets, statefulSets, daemonSets, jobs, cronJobs, replicationControllers];
/** Subresources that cannot change what a pod may do. */
const exemptSubresources = new Set(['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status']);

/** Enforces the level of the Pod Security Standards that the labels of a namespace select. Upstream: PodSecurity. */
export function createPodSecurity(reader: ObjectReader, settings: PodSecuritySettings): AdmissionPlugin {
  const guard = new Guard(reader, settings);
  const isPod = ({ definition: { type } }: AdmissionAttributes): boolean =>
    type.plural === pods.plural && type.group === pods.group;
  const isTemplated = (attributes: AdmissionAttributes): boolean => templated.some((type) => isAbout(attributes, type));
  return {
    name: 'PodSecurity',
    handles: (attributes) => {
      if (attributes.operation !== 'CREATE' && attributes.operation !== 'UPDATE') return false;
      return isPod(attributes)
        ? !exemptSubresources.has(attributes.subresource)
        : isTemplated(attributes) || isAbout(attributes, namespaces);
    },
    validate: (attributes) => {
      if (isAbout(attributes, namespaces)) guard.namespace(attributes);
      else if (isPod(attributes)) guard.pod(attributes);
      else guard.template(attributes);
    },
  };
}

interface Judgement {
  readonly metadata: Pick<ObjectMeta, 'annotations'>;
  readonly spec: PodSpec;
  readonly read: ReadPolicy;
  readonly enforce: boolean;
}

class Guard {
  readonly #reader: ObjectReader;
  readonly #settings: PodSecuritySettings;

  constructor(reader: ObjectReader, settings: PodSecuritySettings) {
    this.#reader = reader;
    this.#settings = settings;
  }

  namespace(attributes: AdmissionAttributes): void {
    const { metadata } = objectOf(attributes, namespaces);
    const { labels = {}, name } = metadata;
    const { defaults, exemptions } = this.#settings;
    const { policy, errors } = readPolicy(labels, defaults);
    const old =
      attributes.operation === 'UPDATE'
        ? readPolicy(oldObjectOf(attributes, namespaces).metadata.labels ?? {}, defaults)
        : undefined;
    const isNews = errors.length > 0 && formatInvalid('', '', errors) !== formatInvalid('', '', old?.errors ?? []);
    if (isNews) throw invalid({ group: '', kind: 'Namespace' }, name, errors);
    const exempt = exemptions.namespaces.includes(name);
    if (old === undefined) return exempt ? this.#warnOfExemption(attributes, labels, policy) : undefined;
    const [before, after] = [old.policy.enforce, policy.enforce];
    if (isSame(before, after) || after.level === 'privileged') return;
    if (before.minor === after.minor && !isStricter(after.level, before.level)) return;
    if (exempt) return this.#warnOfExemption(attributes, labels, policy);
    const existing = this.#reader
      .list(pods, name)
      .filter(({ spec }) => !exemptions.runtimeClasses.includes(spec.runtimeClassName ?? ''));
    for (const warning of warningsOfExisting(name, after, existing)) attributes.context.warn(warning);
  }

  pod(attributes: AdmissionAttributes): void {
    if (this.#isExempt(attributes)) return;
    const { namespace, context } = attributes;
    const read = this.#policyOf(namespace);
    if (read === undefined) throw internalError(`failed to lookup namespace ${JSON.stringify(namespace)}`);
    if (read.errors.length === 0 && isFullyPrivileged(read.policy))
      return context.annotate(`${LABEL_PREFIX}enforce-policy`, formatLevel(latest('privileged')));
    const pod = objectOf(attributes, pods);
    if (attributes.operation === 'UPDATE' && !changesImages(pod, oldObjectOf(attributes, pods))) return;
    this.#judge(attributes, { metadata: pod.metadata, spec: pod.spec, read, enforce: true });
  }

  template(attributes: AdmissionAttributes): void {
    if (this.#isExempt(attributes)) return;
    const read = this.#policyOf(attributes.namespace);
    if (read === undefined)
      return attributes.context.annotate(
        `${LABEL_PREFIX}error`,
        `failed to lookup namespace ${JSON.stringify(attributes.namespace)}`,
      );
    if (read.errors.length === 0 && read.policy.warn.level === 'privileged' && read.policy.audit.level === 'privileged')
      return;
    const { template } = isAbout(attributes, cronJobs)
      ? objectOf(attributes, cronJobs).spec.jobTemplate.spec
      : objectOf(attributes, deployments).spec;
    if (template?.spec !== undefined)
      this.#judge(attributes, { metadata: template.metadata ?? {}, spec: template.spec, read, enforce: false });
  }

  #policyOf(namespace: string): ReadPolicy | undefined {
    const found = this.#reader.get(namespaces, { namespace: '', name: namespace });
    return found === undefined ? undefined : readPolicy(found.metadata.labels ?? {}, this.#settings.defaults);
  }

  #isExempt({ namespace, context }: AdmissionAttributes): boolean {
    const { exemptions } = this.#settings;
    const by = exemptions.namespaces.includes(namespace)
      ? 'namespace'
      : exemptions.usernames.includes(context.user.name)
        ? 'user'
        : undefined;
    if (by !== undefined) context.annotate(`${LABEL_PREFIX}exempt`, by);
    return by !== undefined;
  }

  #judge(attributes: AdmissionAttributes, { metadata, spec, read, enforce }: Judgement): void {
    const { context } = attributes;
    if (spec.runtimeClassName !== undefined && this.#settings.exemptions.runtimeClasses.includes(spec.runtimeClassName))
      return context.annotate(`${LABEL_PREFIX}exempt`, 'runtimeClass');
    const { policy, errors } = read;
    if (errors.length > 0)
      context.annotate(
        `${LABEL_PREFIX}error`,
        `Failed to parse policy: ${errors.map(({ field, message }) => `${field}: ${message}`).join(', ')}`,
      );
    const pod = judged(metadata, spec);
    const wrong = (mode: Mode): string | undefined => {
      const violations = violationsOf(policy[mode], pod);
      return violations.length === 0
        ? undefined
        : `violate PodSecurity ${JSON.stringify(formatLevel(policy[mode]))}: ${describeViolations(violations)}`;
    };
    if (enforce) context.annotate(`${LABEL_PREFIX}enforce-policy`, formatLevel(policy.enforce));
    const refused = enforce ? wrong('enforce') : undefined;
    const audited = wrong('audit');
    if (audited !== undefined) context.annotate(`${LABEL_PREFIX}audit-violations`, `would ${audited}`);
    if (refused !== undefined) throw refusal(attributes, refused.replace('violate', 'violates'));
    const warned = wrong('warn');
    if (warned !== undefined) context.warn(`would ${warned}`);
  }

  #warnOfExemption(
    { context, object }: AdmissionAttributes,
    labels: Readonly<Record<string, string>>,
    policy: Policy,
  ): void {
    const { defaults } = this.#settings;
    const modes: readonly Mode[] = ['enforce', 'audit', 'warn'];
    if (isFullyPrivileged(policy) || modes.every((mode) => isEquivalent(policy[mode], defaults[mode]))) return;
    const isSet = (mode: Mode): boolean =>
      labels[LABEL_PREFIX + mode] !== undefined || labels[`${LABEL_PREFIX}${mode}-version`] !== undefined;
    const ignored = modes
      .filter((mode) => policy[mode].level !== 'privileged' && isSet(mode))
      .map((mode) => `${mode}=${formatLevel(policy[mode])}`);
    context.warn(
      `namespace ${JSON.stringify(object?.metadata.name)} is exempt from Pod Security, and the policy (${ignored.join(', ')}) will be ignored`,
    );
  }
}

/** Whether the update can affect the result. Only changes of images and ephemeral containers can. */
function changesImages({ spec }: Pod, { spec: old }: Pod): boolean {
  const images = (containers: readonly { readonly image?: string }[] = []): string =>
    JSON.stringify(containers.map(({ image = '' }) => image));
  if (images(spec.containers) !== images(old.containers) || images(spec.initContainers) !== images(old.initContainers))
    return true;
  const before = new Map(old.ephemeralContainers?.map(({ name, image }) => [name, image]));
  return (spec.ephemeralContainers ?? []).some(({ name, image = '' }) => before.get(name) !== image);
}
