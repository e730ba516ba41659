import { PodSchema } from '../core/pod.ts';
import type { Pod } from '../core/pod.ts';
import { defaultPod } from '../defaults/default-pod.ts';
import { decode, formatDecodeError } from '../schema/decode.ts';
import { setAt } from './set-at.ts';

export type Changes = Readonly<Record<string, unknown>>;

/**
 * A small valid pod, defaulted, with fields set by path: `{ 'spec.containers[0].image': 'x' }`. `undefined` removes a
 * field.
 */
export function buildPod(changes: Changes = {}, options: { defaulted?: boolean } = {}): Pod {
  const plain: unknown = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1' },
    spec: { containers: [{ name: 'main', image: 'busybox:1.36' }] },
  };
  for (const [path, value] of Object.entries(changes)) setAt(plain, path, value);
  const { value, errors } = decode(PodSchema, plain);
  if (errors.length > 0) throw new Error(errors.map(formatDecodeError).join('\n'));
  return options.defaulted === false ? value : defaultPod(value);
}
