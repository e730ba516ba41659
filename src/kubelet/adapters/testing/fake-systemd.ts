import { KubeletError } from '../../../base/errors.ts';
import type { ManagerConnection } from '../cgroups/systemd-manager.ts';

/**
 * The part of systemd that slices need, with its bus: units, jobs that end when the test says so, and connections that
 * can be cut.
 */
export class FakeSystemd {
  readonly units = new Map<string, { active: boolean; properties: Map<string, unknown> }>();
  readonly calls: string[] = [];
  dials = 0;
  away = false;
  /** The result of jobs; undefined means that they do not end. */
  result: string | undefined = 'done';
  /** Whether the signal arrives before the response of the call. */
  isEarly = false;
  #jobs = 0;
  #cut: (() => void)[] = [];

  dial = async (): Promise<ManagerConnection> => {
    this.dials += 1;
    if (this.away) throw new KubeletError('Unavailable', 'connection refused');
    let open = true;
    const onJob: ((job: string, result: string) => void)[] = [];
    const onClose: (() => void)[] = [];
    this.#cut.push(() => {
      if (!open) return;
      open = false;
      for (const listener of onClose) listener();
    });
    return {
      call: async (member, _signature, body) => {
        if (!open) throw new KubeletError('Unavailable', 'the connection is closed');
        this.calls.push(`${member} ${String(body[0])}`);
        const job = this.#apply(member, body);
        if (job === undefined) return undefined;
        const end = (): void => {
          const result = this.result;
          if (result !== undefined) for (const listener of onJob) listener(job, result);
        };
        if (this.isEarly) end();
        else setImmediate(end);
        return job;
      },
      version: async () => '252.39-1~deb12u2',
      onJobRemoved: (listener) => void onJob.push(listener),
      onClose: (listener) => void onClose.push(listener),
      close: () => undefined,
    };
  };

  cut(): void {
    for (const cut of this.#cut.splice(0)) cut();
  }

  /** Applies a call. Returns the path of the job if the call creates one. */
  #apply(member: string, body: readonly unknown[]): string | undefined {
    const name = String(body[0]);
    const unit = this.units.get(name);
    const set = (properties: unknown): void => {
      for (const [key, [, value]] of properties as [string, [string, unknown]][])
        this.units.get(name)?.properties.set(key, value);
    };
    if (member === 'ResetFailedUnit') return undefined;
    if (member === 'StartTransientUnit') {
      if (unit !== undefined)
        throw new KubeletError('AlreadyExists', `Unit ${name} was already loaded or has a fragment file.`);
      this.units.set(name, { active: true, properties: new Map() });
      set(body[2]);
    } else if (unit === undefined) {
      throw new KubeletError('NotFound', `Unit ${name} not loaded.`);
    } else if (member === 'SetUnitProperties') {
      set(body[2]);
      return undefined;
    } else if (member === 'StopUnit') {
      this.units.delete(name);
    } else {
      unit.active = true;
    }
    this.#jobs += 1;
    return `/org/freedesktop/systemd1/job/${this.#jobs}`;
  }
}
