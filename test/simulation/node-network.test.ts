// Faults of networks and nodes, in an order that the seed chooses. F1, F2: the program is killed at any point. F6:
// others change the kernel's state, while the program runs or not. F12: a program of the kernel fails, does half of its
// work, or succeeds and reports a failure. F13: an event of the kernel is lost. F21 to F24, F30: the API server is
// unreachable, ends watches, drops their history, refuses writes, or is slow. F26, F27: nodes are deleted and replaced,
// the own node too. F31: the disk is full. F40: the wall clock jumps. F42: the machine gets another address. F52:
// hostile annotations, endpoints and policies. At the end, the kernel must contain what a program with an empty kernel
// writes. All the time, a service that is not changed must have its rules, unless another program removed them.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ApiStatusError } from '../../src/api/status/api-status-error.ts';
import { seedHostileObject } from './hostile-objects.ts';
import { KernelSide, NetworkWorld } from './network-world.ts';

/** The number of seeds; `SIMULATION_SEEDS` sets another one. */
const SEEDS = Math.min(Number(process.env['SIMULATION_SEEDS'] ?? 40), 1000);
const STEPS = 120;
/** After this time all checks, back-offs and periodic repairs have run. */
const CALM_MS = 180_000;
/** The kernel is checked every 10 s and repaired after that; or the longest wait for the API server. */
const BACK_MS = 40_000;

interface Run {
  readonly world: NetworkWorld;
  readonly kernel: KernelSide;
  isRunning: boolean;
  /** When another program last removed rules, or the kernel last refused a change. */
  disturbedMs: number;
  /** Ends an outage of the API server. */
  endOutage: (() => void) | undefined;
}

const unavailable = (): Error => new ApiStatusError('ServiceUnavailable', 'the API server is away');

async function fault(run: Run): Promise<void> {
  const { world, kernel } = run;
  const disturbed = (): void => void (run.disturbedMs = world.clock.monotonicMs());
  switch (world.pick(17)) {
    case 0:
      if (run.isRunning) await world.stop();
      else world.start(kernel);
      run.isRunning = !run.isRunning;
      return;
    case 1:
      run.endOutage?.();
      world.api.endWatches(unavailable());
      run.endOutage = world.api.script(unavailable);
      return;
    case 2:
      run.endOutage?.();
      run.endOutage = undefined;
      return;
    case 10:
      // A program that starts now knows services and no endpoints.
      run.endOutage?.();
      run.endOutage = world.api.script(({ verb, plural }) =>
        verb === 'list' && plural === 'endpointslices' ? unavailable() : undefined,
      );
      if (run.isRunning) await world.stop();
      world.start(kernel);
      run.isRunning = true;
      return;
    case 3:
      world.api.compact();
      return world.api.endWatches();
    case 4:
      world.api.fail('patch', 'nodes', new ApiStatusError('Conflict', 'changed meanwhile'), 1 + world.pick(3));
      return;
    case 5:
      world.lagMs = world.pick(2) * world.pick(3000);
      return;
    case 6:
      kernel.filter.failures = 1 + world.pick(2);
      kernel.services.failures = world.pick(2);
      kernel.policies.failures = 1;
      return disturbed();
    case 7:
      kernel.services.late = 1;
      kernel.policies.late = 1;
      return disturbed();
    case 8:
      kernel.network.faults = 1 + world.pick(2);
      return;
    case 11:
      return world.removeNode();
    case 12:
      return world.seedNode();
    case 13:
      return world.moveNode(kernel);
    case 14:
      return kernel.network.removeLink('flannel.1');
    case 15:
      kernel.fullDisk = world.pick(4);
      kernel.files.clear();
      return world.clock.stepWall((world.pick(3) - 1) * 3_600_000);
    case 16:
      return seedHostileObject(world.api, (count) => world.pick(count));
    default:
      takeAll(kernel);
      return disturbed();
  }
}

function takeAll(kernel: KernelSide): void {
  kernel.filter.flush('nat');
  kernel.services.flush();
  kernel.policies.flush();
  kernel.network.disturb((each) => each.removeLink('flannel.1'), '7: flannel.1: deleted');
}

/** Whether both backends have the rules of the service that always exists. */
function isRouted({ kernel }: Run): boolean {
  const chains = kernel.filter.chainNames('nat').flatMap((chain) => kernel.filter.rules('nat', chain) ?? []);
  const elements = [...kernel.services.sets.values()].flatMap((set) => [...set.keys()]);
  const leads = (ip: string): boolean => chains.some((rule) => rule.includes(ip));
  return leads('10.96.0.9') && leads('10.84.0.250') && elements.some((each) => each.startsWith('10.96.0.9 '));
}

async function simulate(seed: number): Promise<void> {
  const world = new NetworkWorld(seed);
  const kernel = new KernelSide(world.random);
  const run: Run = { world, kernel, isRunning: true, disturbedMs: 0, endOutage: undefined };
  world.start(kernel);
  await world.clock.advance(2000);
  assert.ok(isRouted(run), 'routed at first');
  let wasTaken = false;
  for (let step = 0; step < STEPS; step += 1) {
    if (world.pick(4) === 0) await fault(run);
    else world.act();
    // What was taken while nothing runs, or while nothing can be read, comes back later.
    wasTaken = isRouted(run) ? false : wasTaken || run.disturbedMs === world.clock.monotonicMs();
    const isBlind = !run.isRunning || run.endOutage !== undefined || world.lagMs > 0;
    if (isBlind && wasTaken && !isRouted(run)) run.disturbedMs = world.clock.monotonicMs();
    await world.clock.advance(world.pick(3) === 0 ? world.pick(8000) : world.pick(60));
    const isSettled = world.clock.monotonicMs() - run.disturbedMs > BACK_MS;
    if (isSettled) assert.ok(isRouted(run), `step ${step}: no rules`);
  }
  run.endOutage?.();
  world.lagMs = 0;
  world.seedNode();
  if (!run.isRunning) world.start(kernel);
  await world.clock.advance(BACK_MS);
  // The cluster does not change any more: only the periodic checks of the programs can find what others removed.
  takeAll(kernel);
  await world.clock.advance(CALM_MS);
  const actual = kernel.content();
  await world.stop();
  const fresh = new KernelSide(world.random, world.address);
  world.start(fresh);
  await world.clock.advance(CALM_MS);
  await world.stop();
  assert.deepEqual(actual, fresh.content());
}

for (let seed = 1; seed <= SEEDS; seed += 1)
  it(`the network of a node comes through the faults of seed ${seed}`, () => simulate(seed));
