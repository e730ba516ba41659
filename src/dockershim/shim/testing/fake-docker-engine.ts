import { PassThrough } from 'node:stream';
import { KubeletError } from '../../../base/errors.ts';
import type { DockerEngine, Filters, LogRange } from '../../engine/docker-engine.ts';
import type {
  ContainerSummary,
  CreateContainerBody,
  DockerEvent,
  ImageInspect,
  PullProgress,
} from '../../engine/docker-types.ts';

export interface FakeContainer {
  readonly id: string;
  readonly name: string;
  readonly body: CreateContainerBody;
  state: 'created' | 'running' | 'paused' | 'exited';
  exitCode: number;
  pid: number;
}

/** Docker Engine in memory. Tests can make its calls fail. */
export class FakeDockerEngine implements DockerEngine {
  readonly containers = new Map<string, FakeContainer>();
  readonly images = new Map<string, ImageInspect>();
  /** `method id` of each call that changes something. */
  readonly calls: string[] = [];
  /** The error of the next call of a method. */
  readonly failures = new Map<string, Error>();
  /** The chunks of each container's log, and whether the log continues. */
  readonly logs = new Map<string, PassThrough[]>();
  readonly logRequests: string[] = [];
  pullLines: readonly PullProgress[] = [];
  pullHangs = false;
  execs: { stdout: Buffer; exitCode: number; hangs?: boolean } = { stdout: Buffer.alloc(0), exitCode: 0 };
  eventLines: readonly DockerEvent[] = [];
  #next = 0x1000_0000_0000;

  get names(): readonly string[] {
    return [...this.containers.values()].map(({ name, state }) => `${name} ${state}`);
  }

  end(id: string, exitCode = 0): void {
    const container = this.#find(id);
    container.state = 'exited';
    container.exitCode = exitCode;
    container.pid = 0;
  }

  version = async (): ReturnType<DockerEngine['version']> => ({ Version: '20.10', ApiVersion: '1.41' });
  info = async (): ReturnType<DockerEngine['info']> => ({ DockerRootDir: '/docker', Runtimes: { runc: {} } });

  async listContainers(filters: Filters): Promise<readonly ContainerSummary[]> {
    this.#failing('listContainers');
    return [...this.containers.values()]
      .filter(({ id, body, state }) => {
        const { label = [], id: ids, status } = filters;
        const has = (wanted: string): boolean => {
          const [key = '', ...value] = wanted.split('=');
          return body.Labels[key] === value.join('=');
        };
        return (
          label.every(has) &&
          (ids === undefined || ids.includes(id)) &&
          (status === undefined || status.includes(state))
        );
      })
      .map(({ id, name, body, state }) => ({
        Id: id,
        Names: [`/${name}`],
        State: state,
        Labels: body.Labels,
        Created: 1,
      }));
  }

  async inspectContainer(id: string): ReturnType<DockerEngine['inspectContainer']> {
    this.#failing('inspectContainer');
    const { id: full, name, body, state, exitCode, pid } = this.#find(id);
    const isStarted = state !== 'created';
    return {
      Id: full,
      Name: `/${name}`,
      Created: '2026-11-23T00:00:00Z',
      Image: body.Image,
      ResolvConfPath: `/docker/${full}/resolv.conf`,
      Config: { Image: body.Image, Labels: body.Labels, Tty: body.Tty ?? false },
      HostConfig: body.HostConfig,
      SizeRw: 10,
      State: {
        Status: state,
        Running: state === 'running' || state === 'paused',
        Pid: pid,
        ExitCode: exitCode,
        StartedAt: isStarted ? '2026-11-23T00:00:01Z' : '',
        FinishedAt: state === 'exited' ? '2026-11-23T00:00:02Z' : '',
      },
    };
  }

  async createContainer(name: string, body: CreateContainerBody): Promise<string> {
    this.calls.push(`create ${name}`);
    this.#failing('createContainer');
    if (body.Labels['io.kubernetes.docker.type'] === 'podsandbox' && !this.images.has(body.Image))
      throw new KubeletError('NotFound', `No such image: ${body.Image}`);
    if ([...this.containers.values()].some((each) => each.name === name))
      throw new KubeletError('Conflict', `the name ${name} is in use`);
    const id = (this.#next += 1).toString(16).padStart(64, '0');
    this.containers.set(id, { id, name, body, state: 'created', exitCode: 0, pid: 0 });
    return id;
  }

  async startContainer(id: string): Promise<void> {
    this.calls.push(`start ${this.#find(id).name}`);
    this.#failing('startContainer');
    const container = this.#find(id);
    container.state = 'running';
    container.pid = 4711;
  }

  async stopContainer(id: string, graceS: number): Promise<void> {
    this.calls.push(`stop ${this.#find(id).name} ${graceS}`);
    this.#failing('stopContainer');
    if (['running', 'paused'].includes(this.#find(id).state)) this.end(id, 137);
  }

  async removeContainer(id: string): Promise<void> {
    this.calls.push(`remove ${this.#find(id).name}`);
    this.#failing('removeContainer');
    this.containers.delete(this.#find(id).id);
  }

  async updateContainer(id: string, resources: object): Promise<void> {
    this.calls.push(`update ${this.#find(id).name} ${JSON.stringify(resources)}`);
  }

  resizeContainer: DockerEngine['resizeContainer'] = async () => undefined;
  resizeExec: DockerEngine['resizeExec'] = async () => undefined;

  async readLogs(id: string, { since, isFollowed, signal }: LogRange): Promise<AsyncIterable<Uint8Array>> {
    this.logRequests.push(isFollowed ? since : `${since} to the end`);
    this.#failing('readLogs');
    const stream = this.logs.get(id)?.shift() ?? new PassThrough().end();
    signal.addEventListener('abort', () => stream.destroy(new KubeletError('Aborted', 'aborted')));
    return stream as AsyncIterable<Uint8Array>;
  }

  attach = async (): ReturnType<DockerEngine['attach']> => new PassThrough();

  async createExec(id: string): Promise<string> {
    this.#find(id);
    return 'exec1';
  }

  async startExec(
    _id: string,
    { signal }: { readonly signal?: AbortSignal | undefined },
  ): ReturnType<DockerEngine['startExec']> {
    const stream = new PassThrough();
    // A stream that its reader ends must still be read.
    stream.end = (() => stream) as typeof stream.end;
    stream.write(this.execs.stdout);
    signal?.addEventListener('abort', () => stream.destroy());
    if (this.execs.hangs !== true) stream.push(null);
    return stream;
  }

  inspectExec = async (): ReturnType<DockerEngine['inspectExec']> =>
    this.execs.hangs === true
      ? { Running: true, Pid: 99, ContainerID: 'c' }
      : { Running: false, ExitCode: this.execs.exitCode, Pid: 99, ContainerID: 'c' };

  stats = async (): ReturnType<DockerEngine['stats']> => ({
    read: '2026-11-23T00:00:10Z',
    cpu_stats: { cpu_usage: { total_usage: 5_000_000 } },
    memory_stats: { usage: 1000, stats: { total_inactive_file: 300, total_rss: 500 } },
  });

  listImages = async (): ReturnType<DockerEngine['listImages']> => [...new Set(this.images.values())];

  async inspectImage(name: string): Promise<ImageInspect> {
    this.#failing('inspectImage');
    const image = this.images.get(name);
    if (image === undefined) throw new KubeletError('NotFound', `no such image: ${name}`);
    return image;
  }

  async *pullImage(name: string, _auth: unknown, signal: AbortSignal): AsyncIterable<PullProgress> {
    this.calls.push(`pull ${name}`);
    yield* this.pullLines;
    if (this.pullHangs)
      await new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new KubeletError('Aborted', 'aborted'))),
      );
    this.images.set(name, { Id: 'sha256:pulled', RepoTags: [name] });
  }

  async removeImage(name: string): Promise<void> {
    this.calls.push(`remove image ${name}`);
    if (!this.images.delete(name)) throw new KubeletError('NotFound', `no such image: ${name}`);
  }

  async *events(_filters: Filters, { onOpen }: { readonly onOpen: () => void }): AsyncIterable<DockerEvent> {
    onOpen();
    yield* this.eventLines;
  }

  #find(id: string): FakeContainer {
    const found = this.containers.get(id) ?? [...this.containers.values()].find(({ name }) => name === id);
    if (found === undefined) throw new KubeletError('NotFound', `No such container: ${id}`);
    return found;
  }

  #failing(method: string): void {
    const failure = this.failures.get(method);
    this.failures.delete(method);
    if (failure !== undefined) throw failure;
  }
}
