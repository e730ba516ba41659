import { Buffer } from 'node:buffer';
import { KubeletError } from '../../base/errors.ts';
import { isRecord } from '../../base/json-record.ts';
import type { DockerEngine, Filters } from '../engine/docker-engine.ts';
import type {
  ContainerInspect,
  ContainerSummary,
  DockerEvent,
  DockerInfo,
  DockerStats,
  DockerVersion,
  ExecInspect,
  ImageInspect,
  ImageSummary,
  PullProgress,
} from '../engine/docker-types.ts';
import { parseImageName } from '../plan/image-names.ts';
import type { DockerCall, DockerHttp } from './docker-http.ts';

const filterText = (filters: Filters): string => JSON.stringify(filters);

/** Ids and names are part of paths. An image name contains slashes, which Docker accepts as they are. */
const pathPart = (name: string): string => name.split('/').map(encodeURIComponent).join('/');

/**
 * Docker Engine's API over HTTP. Of the answers only this is checked: that they are objects, or lists of objects.
 */
export function createDockerClient(http: DockerHttp): DockerEngine {
  return {
    ...engineCalls(http),
    ...containerCalls(http),
    ...streamCalls(http),
    ...execCalls(http),
    ...imageCalls(http),
  };
}

function engineCalls(http: DockerHttp): Pick<DockerEngine, 'version' | 'info' | 'events'> {
  return {
    version: async (call) =>
      objectOf<DockerVersion>(await http.json({ op: 'version', method: 'GET', path: '/version', ...call }), 'version'),
    info: async (call) =>
      objectOf<DockerInfo>(await http.json({ op: 'info', method: 'GET', path: '/info', ...call }), 'info'),
    events: (filters, { signal, onOpen }) =>
      http.lines(
        { op: 'watch events', method: 'GET', path: '/events', query: { filters: filterText(filters) }, signal },
        onOpen,
      ) as AsyncIterable<DockerEvent>,
  };
}

function containerCalls(
  http: DockerHttp,
): Pick<
  DockerEngine,
  | 'listContainers'
  | 'inspectContainer'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'updateContainer'
  | 'resizeContainer'
  | 'stats'
> {
  const pathOf = (id: string): string => `/containers/${pathPart(id)}`;
  /** `path` is relative to the container's path. */
  const run = (op: string, id: string, { path = '', ...call }: Partial<Omit<DockerCall, 'op'>>): Promise<void> =>
    http.run({ op, method: 'POST', path: pathOf(id) + path, ...call });
  return {
    listContainers: async (filters, call) => {
      const query = { all: true, filters: filterText(filters) };
      const list = await http.json({ op: 'list containers', method: 'GET', path: '/containers/json', query, ...call });
      return listOf<ContainerSummary>(list, 'list containers');
    },
    inspectContainer: async (id, { size, signal } = {}) =>
      objectOf<ContainerInspect>(
        await http.json({
          op: 'inspect container',
          method: 'GET',
          path: `${pathOf(id)}/json`,
          query: { size },
          signal,
        }),
        'inspect container',
      ),
    createContainer: async (name, body, call) => {
      const query = { name };
      const answer = await http.json({
        op: 'create container',
        method: 'POST',
        path: '/containers/create',
        query,
        body,
        ...call,
      });
      return idOf(answer, 'create container');
    },
    startContainer: (id, call) => run('start container', id, { path: '/start', ...call }),
    stopContainer: (id, graceS, call) => run('stop container', id, { path: '/stop', query: { t: graceS }, ...call }),
    removeContainer: (id, call) =>
      run('remove container', id, { method: 'DELETE', query: { force: true, v: true }, ...call }),
    updateContainer: (id, body, call) => run('update container', id, { path: '/update', body, ...call }),
    resizeContainer: (id, { width, height }) =>
      run('resize terminal', id, { path: '/resize', query: { w: width, h: height } }),
    stats: async (id, call) =>
      objectOf<DockerStats>(
        await http.json({
          op: 'read stats',
          method: 'GET',
          path: `${pathOf(id)}/stats`,
          query: { stream: false, 'one-shot': true },
          ...call,
        }),
        'read stats',
      ),
  };
}

function streamCalls(http: DockerHttp): Pick<DockerEngine, 'readLogs' | 'attach'> {
  return {
    readLogs: (id, { since, isFollowed, signal }) =>
      http.stream({
        op: 'read logs',
        method: 'GET',
        path: `/containers/${pathPart(id)}/logs`,
        query: { follow: isFollowed, stdout: true, stderr: true, timestamps: true, since },
        signal,
      }),
    attach: (id, { stdin, signal }) =>
      http.hijack({
        op: 'attach',
        method: 'POST',
        path: `/containers/${pathPart(id)}/attach`,
        query: { stream: true, stdin, stdout: true, stderr: true },
        signal,
      }),
  };
}

function execCalls(http: DockerHttp): Pick<DockerEngine, 'createExec' | 'startExec' | 'inspectExec' | 'resizeExec'> {
  return {
    createExec: async (id, body, call) => {
      const answer = await http.json({
        op: 'create exec',
        method: 'POST',
        path: `/containers/${pathPart(id)}/exec`,
        body,
        ...call,
      });
      return idOf(answer, 'create exec');
    },
    startExec: (execId, { tty, signal }) =>
      http.hijack({
        op: 'start exec',
        method: 'POST',
        path: `/exec/${pathPart(execId)}/start`,
        body: { Detach: false, Tty: tty },
        signal,
      }),
    inspectExec: async (execId, call) =>
      objectOf<ExecInspect>(
        await http.json({
          op: 'inspect exec',
          method: 'GET',
          path: `/exec/${pathPart(execId)}/json`,
          ...call,
        }),
        'inspect exec',
      ),
    resizeExec: (execId, { width, height }) =>
      http.run({
        op: 'resize terminal',
        method: 'POST',
        path: `/exec/${pathPart(execId)}/resize`,
        query: { w: width, h: height },
      }),
  };
}

function imageCalls(http: DockerHttp): Pick<DockerEngine, 'listImages' | 'inspectImage' | 'pullImage' | 'removeImage'> {
  return {
    listImages: async (filters, call) => {
      const query = { filters: filterText(filters) };
      const list = await http.json({ op: 'list images', method: 'GET', path: '/images/json', query, ...call });
      return listOf<ImageSummary>(list, 'list images');
    },
    inspectImage: async (name, call) =>
      objectOf<ImageInspect>(
        await http.json({
          op: 'inspect image',
          method: 'GET',
          path: `/images/${pathPart(name)}/json`,
          ...call,
        }),
        'inspect image',
      ),
    pullImage: (reference, auth, signal) => {
      const { repository, tag, digest } = parseImageName(reference);
      return http.lines({
        op: 'pull image',
        method: 'POST',
        path: '/images/create',
        query: { fromImage: repository, tag: digest ?? tag },
        headers: auth === undefined ? {} : { 'x-registry-auth': paddedBase64Url(JSON.stringify(auth)) },
        signal,
      }) as AsyncIterable<PullProgress>;
    },
    removeImage: (name, call) =>
      http.run({ op: 'remove image', method: 'DELETE', path: `/images/${pathPart(name)}`, ...call }),
  };
}

/** Docker treats a header without padding as a header without credentials, and reports no error. */
function paddedBase64Url(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

/** Docker's answers are trusted, but they must be objects, because the callers read their members. */
function objectOf<T extends object>(answer: unknown, op: string): T {
  if (isRecord(answer)) return answer as T;
  throw new KubeletError('Internal', `${op}: Docker's answer is not an object`, { op });
}

function listOf<T extends object>(answer: unknown, op: string): readonly T[] {
  // Docker encodes an empty list as `null`. An empty answer is an error.
  const list = answer === null ? [] : answer;
  if (Array.isArray(list) && list.every(isRecord)) return list as readonly unknown[] as readonly T[];
  throw new KubeletError('Internal', `${op}: Docker's answer is not a list of objects`, { op });
}

function idOf(answer: unknown, op: string): string {
  const { Id: id } = (answer ?? {}) as { readonly Id?: unknown };
  if (typeof id === 'string' && id !== '') return id;
  throw new KubeletError('Internal', `${op}: Docker's answer has no id`, { op });
}
