import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { RunPodSandboxRequest } from '../../cri/generated/cri-v1.ts';
import type { CniHost } from '../cni/cni-host.ts';
import { CniNetwork } from '../cni/cni-network.ts';
import { PauseImage } from './pause-image.ts';
import { Sandboxes } from './sandboxes.ts';
import { createShimFixture } from './testing/shim-fixture.ts';

const request = RunPodSandboxRequest.fromPartial({
  config: { metadata: { name: 'web', namespace: 'ns', uid: 'u', attempt: 0 }, dnsConfig: { servers: ['10.0.0.10'] } },
});

/** A shim that is killed at one of its effects on the machine, and the machine, which survives it. */
class Machine {
  readonly fixture = createShimFixture();
  /** The ids of containers that have an address. */
  readonly addresses = new Set<string>();

  /**
   * `diesAt`: the number of the effect, from 0, before or after which the shim is killed. Later calls have no effect.
   */
  shim(diesAt = Number.POSITIVE_INFINITY, isDone = false): { readonly sandboxes: Sandboxes; effects(): number } {
    const { engine, records, host, cni, clock, images } = this.fixture;
    let effects = 0;
    const dead = (): Error => new KubeletError('Internal', 'killed');
    const mortal = <T extends object>(target: T): T =>
      new Proxy(target, {
        get: (from, name) => {
          const member: unknown = Reflect.get(from, name, from);
          // Calls that only read are not effects.
          if (typeof member !== 'function' || name === 'isProcessOf') return member;
          return async (...given: unknown[]): Promise<unknown> => {
            const mine = effects;
            effects += 1;
            if (mine > diesAt || (mine === diesAt && !isDone)) throw dead();
            const answer: unknown = await Reflect.apply(member, from, given);
            if (mine === diesAt) throw dead();
            return answer;
          };
        },
      });
    const cniHost: CniHost = {
      pluginPath: '/cni',
      readConfigs: cni.readConfigs,
      run: async (call) => {
        const { CNI_COMMAND: command, CNI_CONTAINERID: id = '' } = call.environment;
        if (command === 'ADD') this.addresses.add(id);
        else if (call.program === 'bridge') this.addresses.delete(id);
        return cni.run(call);
      },
    };
    const sandboxes = new Sandboxes({
      engine: mortal(engine),
      network: new CniNetwork(mortal(cniHost)),
      records: mortal(records),
      host: mortal(host),
      pauseImage: new PauseImage('pause:1', engine, images),
      lowestOomScore: -1000,
      clock,
      log: silentLogger,
      runtimes: new Map(),
    });
    return { sandboxes, effects: () => effects };
  }

  /** What the kubelet does with every sandbox that it does not want, and what remains. */
  async cleanUp(): Promise<object> {
    const { sandboxes } = this.shim();
    for (const { id } of await sandboxes.list(undefined)) {
      await sandboxes.stop(id);
      await sandboxes.remove(id);
    }
    assert.deepEqual(await sandboxes.list(undefined), []);
    const { engine, records } = this.fixture;
    return { containers: engine.containers.size, records: records.texts.size, addresses: this.addresses.size };
  }
}

const NOTHING = { containers: 0, records: 0, addresses: 0 };

type Step = (sandboxes: Sandboxes) => Promise<unknown>;

async function effectsOf(work: Step): Promise<number> {
  const machine = new Machine();
  const { sandboxes, effects } = machine.shim();
  await work(sandboxes);
  return effects();
}

async function tryEveryDeath(work: Step, meanwhile: (machine: Machine) => void = () => undefined): Promise<void> {
  const count = await effectsOf(work);
  assert.ok(count > 5, String(count));
  for (let diesAt = 0; diesAt < count; diesAt += 1)
    for (const isDone of [false, true]) {
      const machine = new Machine();
      await work(machine.shim(diesAt, isDone).sandboxes).catch(() => undefined);
      meanwhile(machine);
      assert.deepEqual(await machine.cleanUp(), NOTHING, `killed ${isDone ? 'after' : 'before'} effect ${diesAt}`);
    }
}

const runAndRemove: Step = async (sandboxes) => {
  const id = await sandboxes.run(request);
  await sandboxes.stop(id);
  await sandboxes.remove(id);
};

describe('a shim that is killed at any of its effects', () => {
  it('leaves no address, record or container that the next shim does not free', () => tryEveryDeath(runAndRemove));

  it('also leaves none when the container is removed by another client before the next shim starts', () =>
    tryEveryDeath(runAndRemove, ({ fixture }) => fixture.engine.containers.clear()));
});

describe('the record of a sandbox', () => {
  it('frees the address later when a plugin fails at first', async () => {
    const machine = new Machine();
    const { cni, engine } = machine.fixture;
    cni.failures.set('ADD portmap', 'port is taken');
    cni.failures.set('DEL portmap', 'busy');
    await assert.rejects(machine.shim().sandboxes.run(request), /port is taken/);
    assert.deepEqual(
      [...engine.containers.values()].map(({ state }) => state),
      ['exited'],
    );
    cni.failures.clear();
    cni.calls.length = 0;
    assert.deepEqual(await machine.cleanUp(), NOTHING);
    assert.deepEqual(cni.steps, ['DEL portmap', 'DEL bridge']);
  });

  it('is removed when it cannot be read and Docker does not know the sandbox', async () => {
    const machine = new Machine();
    const { sandboxes } = machine.shim();
    const id = await sandboxes.run(request);
    const { engine, records } = machine.fixture;
    records.texts.set(id, '{"version":1,"rec');
    await sandboxes.list(undefined);
    assert.equal(records.texts.size, 1);
    engine.containers.clear();
    assert.deepEqual(await sandboxes.list(undefined), []);
    assert.equal(records.texts.size, 0);
  });
});
