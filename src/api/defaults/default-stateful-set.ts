import type { StatefulSet, StatefulSetUpdateStrategy } from '../apps/stateful-set.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import { defaultPodTemplate } from './default-apps.ts';
import { defaultPersistentVolumeClaim } from './default-storage.ts';

/** A copy with the defaults that the API server sets (upstream: SetDefaults_StatefulSet). */
export function defaultStatefulSet(set: StatefulSet): StatefulSet {
  const { spec } = set;
  const retention = spec.persistentVolumeClaimRetentionPolicy;
  return {
    ...set,
    spec: {
      ...spec,
      replicas: spec.replicas ?? 1,
      template: defaultPodTemplate(spec.template),
      ...(spec.volumeClaimTemplates !== undefined && {
        volumeClaimTemplates: spec.volumeClaimTemplates.map(defaultClaimTemplate),
      }),
      podManagementPolicy: spec.podManagementPolicy || 'OrderedReady',
      updateStrategy: defaultStrategy(spec.updateStrategy),
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
      persistentVolumeClaimRetentionPolicy: {
        whenDeleted: retention?.whenDeleted || 'Retain',
        whenScaled: retention?.whenScaled || 'Retain',
      },
    },
  };
}

/** Without maxUnavailable, which upstream sets only with a feature gate that is off. */
function defaultStrategy(strategy: StatefulSetUpdateStrategy | undefined): StatefulSetUpdateStrategy {
  const { type: given, rollingUpdate } = strategy ?? {};
  const type = given || 'RollingUpdate';
  // Only a strategy whose type is filled in gets rolling parameters that it does not name.
  const rolling = given ? rollingUpdate : (rollingUpdate ?? {});
  if (type !== 'RollingUpdate' || rolling === undefined) return { ...strategy, type };
  return { type, rollingUpdate: { ...rolling, partition: rolling.partition ?? 0 } };
}

/** Sets kind and apiVersion in templates (upstream: Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec). */
function defaultClaimTemplate({ metadata, ...claim }: PersistentVolumeClaim): PersistentVolumeClaim {
  const { namespace, uid, ...named } = metadata;
  // A template has neither, but its type, which is that of a claim, says both.
  const own = { ...named, ...(namespace && { namespace }), ...(uid && { uid }) } as typeof metadata;
  return {
    ...defaultPersistentVolumeClaim({ ...claim, metadata: own }),
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
  };
}
