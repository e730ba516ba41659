import { goJson } from '../../../api/go-json.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Container } from '../../../api/core/container.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';

/** `started`, `completed`, `error`, or the reason why the resize is pending. */
export type ResizeWord = string;

/**
 * Builds the message of a resize event: `Pod resize started: {…}`, with the resources of all containers as Go's JSON
 * (upstream: events/resize.go).
 */
export function resizeMessage(word: ResizeWord, pod: Pod, more: { generation: number; error?: string }): string {
  const { initContainers = [], containers } = pod.spec;
  const summary = {
    ...(initContainers.length === 0 ? {} : { initContainers: initContainers.map(resourcesOf) }),
    ...(containers.length === 0 ? {} : { containers: containers.map(resourcesOf) }),
    generation: more.generation,
    ...(more.error === undefined || more.error === '' ? {} : { error: more.error }),
  };
  return `Pod resize ${word}: ${goJson(summary)}`;
}

function resourcesOf({ name, resources = {} }: Container): unknown {
  const { limits, requests, claims } = resources;
  return {
    name,
    resources: {
      ...(isEmpty(limits) ? {} : { limits: sorted(limits) }),
      ...(isEmpty(requests) ? {} : { requests: sorted(requests) }),
      ...(claims === undefined || claims.length === 0 ? {} : { claims }),
    },
  };
}

function isEmpty(list: ResourceList | undefined): boolean {
  return list === undefined || Object.keys(list).length === 0;
}

function sorted(list: ResourceList = {}): ResourceList {
  return Object.fromEntries(Object.entries(list).sort(([left], [right]) => (left < right ? -1 : 1)));
}
