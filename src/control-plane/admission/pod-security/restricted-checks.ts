import { procMount, seccompProfile, unlessOwnUsers } from './baseline-checks.ts';
import { containerList, namesWhere, plural, quoted, settersOf, sorted } from './check.ts';
import type { CheckPod, JudgedContainer, PodCheck } from './check.ts';

const unlessWindows =
  (check: CheckPod): CheckPod =>
  (pod) =>
    pod.spec.os?.name === 'windows' ? undefined : check(pod);

const allowPrivilegeEscalation: CheckPod = (pod) => {
  const containers = namesWhere(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  return containers.length === 0
    ? undefined
    : {
        reason: 'allowPrivilegeEscalation != false',
        detail: `${containerList(containers)} must set securityContext.allowPrivilegeEscalation=false`,
      };
};

const capabilities: CheckPod = (pod) => {
  const added = ({ securityContext }: JudgedContainer): readonly string[] =>
    (securityContext?.capabilities?.add ?? []).filter((each) => each !== 'NET_BIND_SERVICE');
  const keeping = namesWhere(
    pod,
    ({ securityContext }) => securityContext?.capabilities?.drop?.includes('ALL') !== true,
  );
  const adding = namesWhere(pod, (each) => added(each).length > 0);
  const details = [
    ...(keeping.length > 0 ? [`${containerList(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [
          `${containerList(adding)} must not include ${quoted(sorted(pod.containers.flatMap(added)))} in securityContext.capabilities.add`,
        ]
      : []),
  ];
  return details.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: details.join('; ') };
};

const allowedVolumes = new Set([
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
]);
const knownVolumes = new Set(
  (
    'hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte azureDisk ' +
    'photonPersistentDisk portworxVolume scaleIO storageos'
  ).split(' '),
);

const restrictedVolumes: CheckPod = ({ spec }) => {
  const typeOf = (volume: object): string =>
    Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined)?.[0] ?? 'unknown';
  const bad = (spec.volumes ?? []).filter((volume) => !allowedVolumes.has(typeOf(volume)));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map(typeOf).map((type) => (knownVolumes.has(type) ? type : 'unknown')));
  const uses = bad.length === 1 ? 'uses' : 'use';
  return {
    reason: 'restricted volume types',
    detail: `${plural('volume', bad)} ${quoted(bad.map(({ name }) => name))} ${uses} ${plural('restricted volume type', types)} ${quoted(types)}`,
  };
};

const runAsNonRoot: CheckPod = (pod) => {
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const reason = 'runAsNonRoot != true';
  const setters = settersOf(
    ofPod === false,
    namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false),
  );
  if (setters !== undefined) return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  const silent =
    ofPod === true ? [] : namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  return silent.length === 0
    ? undefined
    : { reason, detail: `pod or ${containerList(silent)} must set securityContext.runAsNonRoot=true` };
};

const runAsUser: CheckPod = (pod) => {
  const setters = settersOf(
    pod.spec.securityContext?.runAsUser === 0,
    namesWhere(pod, ({ securityContext }) => securityContext?.runAsUser === 0),
  );
  return setters === undefined ? undefined : { reason: 'runAsUser=0', detail: `${setters} must not set runAsUser=0` };
};

const seccompRequired: CheckPod = (pod) => {
  const bad = seccompProfile(pod);
  if (bad !== undefined) return bad;
  const silent =
    pod.spec.securityContext?.seccompProfile === undefined
      ? namesWhere(pod, ({ securityContext }) => securityContext?.seccompProfile === undefined)
      : [];
  return silent.length === 0
    ? undefined
    : {
        reason: 'seccompProfile',
        detail: `pod or ${containerList(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
      };
};

const seccompOverrides = ['seccompProfile_baseline'];
const capabilityOverrides = ['capabilities_baseline'];

/** The rules of the level `restricted` in addition to the baseline, sorted by id. */
export const restrictedChecks: readonly PodCheck[] = [
  {
    id: 'allowPrivilegeEscalation',
    versions: [
      { since: 8, check: allowPrivilegeEscalation },
      { since: 25, check: unlessWindows(allowPrivilegeEscalation) },
    ],
  },
  {
    id: 'capabilities_restricted',
    versions: [
      { since: 22, check: capabilities, overrides: capabilityOverrides },
      { since: 25, check: unlessWindows(capabilities), overrides: capabilityOverrides },
    ],
  },
  { id: 'procMount_restricted', versions: [{ since: 35, check: procMount, overrides: ['procMount'] }] },
  { id: 'restrictedVolumes', versions: [{ since: 0, check: restrictedVolumes, overrides: ['hostPathVolumes'] }] },
  {
    id: 'runAsNonRoot',
    versions: [
      { since: 0, check: runAsNonRoot },
      { since: 35, check: unlessOwnUsers(runAsNonRoot) },
    ],
  },
  {
    id: 'runAsUser',
    versions: [
      { since: 23, check: runAsUser },
      { since: 35, check: unlessOwnUsers(runAsUser) },
    ],
  },
  {
    id: 'seccompProfile_restricted',
    versions: [
      { since: 19, check: seccompRequired, overrides: seccompOverrides },
      { since: 25, check: unlessWindows(seccompRequired), overrides: seccompOverrides },
    ],
  },
];
