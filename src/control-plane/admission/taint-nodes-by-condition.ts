import { nodeTaints } from '../../api/annotations.ts';
import { nodes } from '../../api/client/resource-types.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import { isAbout, objectOf } from './attributes.ts';

const key = nodeTaints.notReady;

/**
 * Taints a new node, so that it gets no pods before the node lifecycle controller has seen it ready. Upstream:
 * TaintNodesByCondition.
 */
export const taintNodesByCondition: AdmissionPlugin = {
  name: 'TaintNodesByCondition',
  handles: (attributes) => attributes.operation === 'CREATE' && isAbout(attributes, nodes),
  mutate(attributes) {
    const node = objectOf(attributes, nodes);
    const { taints = [] } = node.spec ?? {};
    if (taints.some((taint) => taint.key === key && taint.effect === 'NoSchedule')) return node;
    return { ...node, spec: { ...node.spec, taints: [...taints, { key, effect: 'NoSchedule' }] } };
  },
};
