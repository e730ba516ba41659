import { KubeletError } from '../../base/errors.ts';

/** With an empty id, Docker would return the list of all containers. */
export function needId(id: string): string {
  if (id === '') throw new KubeletError('Invalid', 'the request has no id');
  return id;
}
