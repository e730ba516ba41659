import { nodeTaints } from '../../api/annotations.ts';
import { pods } from '../../api/client/resource-types.ts';
import type { Toleration } from '../../api/core/scheduling.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import { isAbout, objectOf } from './attributes.ts';

const keys = [nodeTaints.notReady, nodeTaints.unreachable];

export interface TolerationDefaults {
  /** How long pods stay on a node that is not ready or cannot be reached. Upstream's default: 300. */
  readonly seconds: number;
}

/**
 * Adds tolerations to pods without their own, so that they stay on a failing node for some time. Upstream:
 * DefaultTolerationSeconds.
 */
export function createDefaultTolerationSeconds({ seconds }: TolerationDefaults): AdmissionPlugin {
  return {
    name: 'DefaultTolerationSeconds',
    handles: (attributes) =>
      isAbout(attributes, pods) && (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE'),
    mutate(attributes) {
      const pod = objectOf(attributes, pods);
      const { tolerations = [] } = pod.spec;
      const missing = keys.filter((key) => !tolerations.some((each) => toleratesNoExecute(each, key)));
      if (missing.length === 0) return pod;
      const added = missing.map(
        (key): Toleration => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: seconds }),
      );
      return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } };
    },
  };
}

function toleratesNoExecute({ key = '', effect = 'NoExecute' }: Toleration, wanted: string): boolean {
  return (key === '' || key === wanted) && effect === 'NoExecute';
}
