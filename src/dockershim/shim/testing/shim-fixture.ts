import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { PluginCall } from '../../cni/plugin-call.ts';
import type { CniHost } from '../../cni/cni-host.ts';
import { CniNetwork } from '../../cni/cni-network.ts';
import type { LogEnd } from '../../plan/log-lines.ts';
import { ContainerLogs } from '../container-logs.ts';
import type { LogFiles } from '../container-logs.ts';
import { Containers } from '../containers.ts';
import { Images } from '../images.ts';
import { PauseImage } from '../pause-image.ts';
import { decodeRecord, encodeRecord } from '../sandbox-record.ts';
import { Sandboxes } from '../sandboxes.ts';
import type { SandboxRecords, ShimHost } from '../shim-ports.ts';
import type { DockerEngine } from '../../engine/docker-engine.ts';
import { FakeDockerEngine } from './fake-docker-engine.ts';

const PAUSE = 'pause:1';

class FakeCniHost implements CniHost {
  readonly pluginPath = '/cni';
  readonly calls: PluginCall[] = [];
  configs: { name: string; text: string }[] = [
    {
      name: '10.conflist',
      text: JSON.stringify({
        name: 'net',
        cniVersion: '1.0.0',
        plugins: [{ type: 'bridge' }, { type: 'portmap', capabilities: { portMappings: true } }],
      }),
    },
  ];
  /** `ADD bridge` -> its error message. */
  readonly failures = new Map<string, string>();

  readConfigs = async (): Promise<readonly { name: string; text: string }[]> => this.configs;

  async run(call: PluginCall): ReturnType<CniHost['run']> {
    this.calls.push(call);
    const words = this.failures.get(`${call.environment['CNI_COMMAND']} ${call.program}`);
    if (words !== undefined) return { exitCode: 1, stdout: JSON.stringify({ code: 7, msg: words }), stderr: '' };
    const { prevResult } = JSON.parse(call.input) as { prevResult?: object };
    return {
      exitCode: 0,
      stderr: '',
      stdout: JSON.stringify(prevResult ?? { ips: [{ address: '10.1.0.5/24' }, { address: 'fd00::5/64' }] }),
    };
  }

  get steps(): readonly string[] {
    return this.calls.map(({ program, environment }) => `${environment['CNI_COMMAND']} ${program}`);
  }
}

/** Records as files hold them: encoded. */
class FakeRecords implements SandboxRecords {
  readonly texts = new Map<string, string>();
  write: SandboxRecords['write'] = async (id, record) => void this.texts.set(id, encodeRecord(record));
  read: SandboxRecords['read'] = async (id) => decodeRecord(this.texts.get(id) ?? '');
  list: SandboxRecords['list'] = async () => [...this.texts.keys()];
  remove: SandboxRecords['remove'] = async (id) => void this.texts.delete(id);
}

class FakeLogFiles implements LogFiles {
  readonly texts = new Map<string, string>();
  readonly ends = new Map<string, LogEnd>();
  opened = 0;
  /** The error of the next append. */
  failure: Error | undefined;

  open: LogFiles['open'] = async (path) => {
    this.opened += 1;
    if (!this.texts.has(path)) this.texts.set(path, '');
    return {
      end: this.ends.get(path),
      file: {
        append: async (lines) => {
          const { failure } = this;
          this.failure = undefined;
          if (failure !== undefined) throw failure;
          this.texts.set(
            path,
            (this.texts.get(path) ?? '') + lines.map((line) => Buffer.from(line).toString()).join(''),
          );
        },
        close: async () => undefined,
      },
    };
  };
}

/** The parts of the shim over fakes. `reached`: the engine as the parts see it; the fake itself by default. */
export function createShimFixture(engine = new FakeDockerEngine(), reached: DockerEngine = engine) {
  engine.images.set(PAUSE, { Id: 'sha256:pause', RepoTags: [PAUSE] });
  const clock = new FakeClock();
  const cni = new FakeCniHost();
  const records = new FakeRecords();
  const files = new FakeLogFiles();
  const written = new Map<string, string>();
  const made: string[] = [];
  const killed: string[] = [];
  const host: ShimHost = {
    ensureDirectory: async (path) => void made.push(path),
    readProfile: async (file) => `profile of ${file}`,
    overwriteFile: async (file, text) => void written.set(file, text),
    isProcessOf: (pid, id) => engine.containers.get(id)?.pid === pid || pid === 99,
    killProcess: (pid, id) => void killed.push(`${pid} of ${id}`),
    podUsage: async () => ({ cpuNanos: 7n, processes: 2n, interfaces: [] }),
    diskUsage: async () => ({ usedBytes: 5, inodesUsed: 6 }),
  };
  const log = silentLogger;
  const network = new CniNetwork(cni);
  const images = new Images({ engine: reached, host, clock, pauseImage: PAUSE, progressTimeoutMs: 60_000 });
  const logs = new ContainerLogs({ engine: reached, files, clock, log });
  const lowestOomScore = -1000;
  const runtimes = new Map<string, string>();
  const containers = new Containers({ engine: reached, host, logs, lowestOomScore, clock, runtimes });
  const pauseImage = new PauseImage(PAUSE, reached, images);
  const own = { network, records, host, pauseImage, runtimes };
  const sandboxes = new Sandboxes({ ...own, engine: reached, lowestOomScore, clock, log });
  return {
    engine,
    clock,
    cni,
    records,
    files,
    written,
    made,
    killed,
    host,
    network,
    images,
    logs,
    containers,
    sandboxes,
  };
}
