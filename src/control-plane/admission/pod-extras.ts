import { nodeLabels } from '../../api/annotations.ts';
import { nodes, pods, services } from '../../api/client/resource-types.ts';
import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import { goAggregate } from '../../api/go-aggregate.ts';
import { goQuote } from '../../api/go-quote.ts';
import { compareQuantities, quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { podRequests } from '../../api/resources.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf, oldObjectOf, refusal } from './attributes.ts';

const isWrite = ({ operation }: AdmissionAttributes): boolean => operation === 'CREATE' || operation === 'UPDATE';

/**
 * Sets the pull policy Always, so that the registry checks the credentials of each pod. Upstream: AlwaysPullImages (off
 * by default).
 */
export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  handles: (attributes) =>
    isWrite(attributes) &&
    isAbout(attributes, pods) &&
    (attributes.operation === 'CREATE' || bringsImages(objectOf(attributes, pods), oldObjectOf(attributes, pods))),
  mutate(attributes) {
    const pod = objectOf(attributes, pods);
    const { initContainers, containers, ephemeralContainers, volumes } = pod.spec;
    const pulled = <C extends Pick<Container, 'imagePullPolicy'>>(container: C): C => ({
      ...container,
      imagePullPolicy: 'Always',
    });
    return {
      ...pod,
      spec: {
        ...pod.spec,
        containers: containers.map(pulled),
        ...(initContainers !== undefined && { initContainers: initContainers.map(pulled) }),
        ...(ephemeralContainers !== undefined && { ephemeralContainers: ephemeralContainers.map(pulled) }),
        ...(volumes !== undefined && {
          volumes: volumes.map((volume) =>
            volume.image === undefined
              ? volume
              : { ...volume, image: { ...volume.image, pullPolicy: 'Always' as const } },
          ),
        }),
      },
    };
  },
  validate(attributes) {
    const problems = unpulledPaths(objectOf(attributes, pods)).map(
      ([path, policy]) =>
        refusal(attributes, `${path}: Unsupported value: ${goQuote(policy)}: supported values: "Always"`).message,
    );
    if (problems.length > 0) throw new ApiStatusError('Unknown', goAggregate(problems));
  },
};

function imagesOf({ spec }: Pod): readonly string[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].map(
    ({ image = '' }) => image,
  );
}

function bringsImages(pod: Pod, old: Pod): boolean {
  const before = new Set(imagesOf(old));
  return imagesOf(pod).some((image) => !before.has(image));
}

function unpulledPaths({ spec }: Pod): readonly (readonly [string, string])[] {
  const lists = [
    ['initContainers', spec.initContainers],
    ['containers', spec.containers],
    ['ephemeralContainers', spec.ephemeralContainers],
  ] as const;
  const ofContainers = lists.flatMap(([field, list = []]) =>
    list.map(
      ({ imagePullPolicy = '' }, index) => [`spec.${field}[${index}].imagePullPolicy`, imagePullPolicy] as const,
    ),
  );
  const ofVolumes = (spec.volumes ?? []).map(
    ({ image }, index) =>
      [`spec.volumes[${index}].image.pullPolicy`, image === undefined ? 'Always' : (image.pullPolicy ?? '')] as const,
  );
  return [...ofContainers, ...ofVolumes].filter(([, policy]) => policy !== 'Always');
}

const isExtended = (name: string): boolean =>
  name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');

/**
 * Adds tolerations for the taints of the devices that a pod requests. Upstream: ExtendedResourceToleration (off by
 * default).
 */
export const extendedResourceToleration: AdmissionPlugin = {
  name: 'ExtendedResourceToleration',
  handles: (attributes) => isWrite(attributes) && isAbout(attributes, pods),
  mutate(attributes) {
    const pod = objectOf(attributes, pods);
    const { containers, initContainers = [], tolerations = [] } = pod.spec;
    const asked = [
      ...new Set(
        [...containers, ...initContainers]
          .flatMap(({ resources }) => Object.keys(resources?.requests ?? {}))
          .filter(isExtended),
      ),
    ].sort();
    const tolerated = new Set(
      tolerations.filter((each) => each.operator === 'Exists' && each.effect === 'NoSchedule').map(({ key }) => key),
    );
    const missing = asked.filter((key) => !tolerated.has(key));
    if (missing.length === 0) return pod;
    return {
      ...pod,
      spec: {
        ...pod.spec,
        tolerations: [
          ...tolerations,
          ...missing.map((key) => ({ key, operator: 'Exists' as const, effect: 'NoSchedule' as const })),
        ],
      },
    };
  },
};

/** Rejects external IPs of services. Upstream: DenyServiceExternalIPs (off by default). */
export const denyServiceExternalIps: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  handles: (attributes) => isWrite(attributes) && isAbout(attributes, services),
  validate(attributes) {
    const { externalIPs = [] } = objectOf(attributes, services).spec;
    const before = new Set(attributes.operation === 'UPDATE' ? oldObjectOf(attributes, services).spec.externalIPs : []);
    if (externalIPs.some((address) => !before.has(address)))
      throw refusal(attributes, 'Use of external IPs is denied by admission control');
  },
};

/** Refuses to resize a pod to more than its node could ever have. Upstream: PodResizeValidator. */
export function createPodResizeValidator(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    handles: (attributes) => attributes.operation === 'UPDATE' && isAbout(attributes, pods, 'resize'),
    validate(attributes) {
      const [pod, old] = [objectOf(attributes, pods), oldObjectOf(attributes, pods)];
      const { nodeName = '' } = pod.spec;
      if (nodeName === '' || pod.metadata.generation === old.metadata.generation) return;
      const node = reader.get(nodes, { namespace: '', name: nodeName });
      if (node === undefined) throw refusal(attributes, `node ${JSON.stringify(nodeName)} not found`);
      const system = node.metadata.labels?.['kubernetes.io/os'] ?? 'linux';
      if (system !== 'linux')
        throw because(
          attributes,
          'UnsupportedPlatform',
          `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(system)}`,
        );
      const tooMuch = beyond(pod, node.status?.allocatable ?? {});
      if (tooMuch.length > 0)
        throw because(
          attributes,
          'NodeCapacity',
          `node didn't have enough allocatable resources: ${tooMuch.join('; ')}`,
        );
    },
  };
}

function beyond(pod: Pod, allocatable: Readonly<Record<string, string>>): readonly string[] {
  const requests = podRequests(pod);
  const units = [
    ['cpu', quantityMilliValue],
    ['memory', quantityValue],
  ] as const;
  return units.flatMap(([name, count]) => {
    const [asked, most] = [requests[name] ?? '0', allocatable[name] ?? '0'];
    return compareQuantities(asked, most) > 0
      ? [`${name}, requested: ${count(asked)}, allocatable: ${count(most)}`]
      : [];
  });
}

function because(attributes: AdmissionAttributes, cause: string, why: string): ApiStatusError {
  const { reason, message, details } = refusal(attributes, why);
  return new ApiStatusError(reason, message, { ...details, causes: [{ reason: cause }] });
}

const hostnameKey = nodeLabels.hostname;

/**
 * Restricts required anti-affinity to the topology of a single node. Upstream: LimitPodHardAntiAffinityTopology (off by
 * default).
 */
export const limitPodHardAntiAffinityTopology: AdmissionPlugin = {
  name: 'LimitPodHardAntiAffinityTopology',
  handles: (attributes) => isWrite(attributes) && isAbout(attributes, pods),
  validate(attributes) {
    const terms =
      objectOf(attributes, pods).spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const other = terms.find(({ topologyKey }) => topologyKey !== hostnameKey);
    if (other !== undefined)
      throw refusal(
        attributes,
        `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${other.topologyKey} but only key ${hostnameKey} is allowed`,
      );
  },
};
