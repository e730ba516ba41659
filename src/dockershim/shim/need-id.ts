import { KubeletError } from '../../base/errors.ts';

/** Docker would answer a call without an id for the list of all of them. */
export function needId(id: string): string {
  if (id === '') throw new KubeletError('Invalid', 'the request has no id');
  return id;
}
