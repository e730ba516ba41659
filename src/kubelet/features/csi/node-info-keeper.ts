import type { ApiClient } from '../../../api/client/api-client.ts';
import { csiNodes, nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop, type Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { DriverRegistry } from './driver-registry.ts';
import { planCsiNode, planNodeInfo, type NodeInfoFacts } from './node-info.ts';

/** This node in the API, as whoever follows it sees it. */
export interface OwnNode {
  current(): Node | undefined;
  onChange(listener: (node: Node | undefined) => void): () => void;
}

export interface NodeInfoKeeperOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly node: OwnNode;
  readonly registry: DriverRegistry;
  readonly objects: Pick<ClusterObjects, 'get' | 'onChange'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** `problem` answers otherwise than before. */
  readonly onChange: () => void;
}

const RETRY = { initialMs: 200, maxMs: 60_000, factor: 2 };
/** Somebody else may have changed it. */
const LOOK_AGAIN_MS = 3_600_000;
const JITTER = 0.5;

/**
 * Tells the cluster which CSI drivers the node has, where they say it is and how many volumes it takes: the CSINode, and the node's labels and
 * annotation (upstream: nodeinfomanager.go, csi_node_updater.go). Drivers work meanwhile: an API server that is away is no reason to keep volumes
 * from pods.
 */
export class NodeInfoKeeper {
  readonly #options: NodeInfoKeeperOptions;
  readonly #loop: Loop;
  readonly #left = new Set<string>();
  readonly #refreshes = new Map<string, { periodMs: number; timer: Timer }>();
  readonly #ends: (() => void)[] = [];
  #failures = 0;
  #isDone = false;
  /** Of the node that was told of. */
  #uid: string | undefined;
  #error: string | undefined;
  #saidCollisions = '';

  constructor(options: NodeInfoKeeperOptions) {
    this.#options = options;
    const { clock, random, log } = options;
    const periodMs = (): number => (this.#failures > 0 ? backoffDelayMs(RETRY, this.#failures) : LOOK_AGAIN_MS);
    this.#loop = createLoop({
      name: 'CSINode',
      clock,
      random,
      log,
      periodMs,
      jitterFactor: JITTER,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    const { registry, node, objects } = this.#options;
    this.#ends.push(
      registry.onChange((name, isRegistered) => {
        if (isRegistered) this.#left.delete(name);
        else this.#left.add(name);
        void this.#planRefresh(name);
        this.#loop.wake();
      }),
      node.onChange((now) => {
        // One that is registered anew has nothing of what was said of the one before.
        if (now?.metadata.uid !== this.#uid) this.#isDone = false;
        if (now !== undefined && !this.#isDone) this.#loop.wake();
      }),
      objects.onChange(({ kind, name }) => {
        if (kind === 'CSIDriver') void this.#planRefresh(name);
      }),
    );
    this.#loop.start();
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    for (const { timer } of this.#refreshes.values()) timer.cancel();
    this.#refreshes.clear();
    await this.#loop.stop();
  }

  /** Why the node may not be called ready; undefined once the CSINode is there, for good (upstream: initializeCSINode). */
  problem(): string | undefined {
    if (this.#isDone) return undefined;
    return this.#error === undefined
      ? 'CSINode is not yet initialized'
      : `failed to initialize CSINode: ${this.#error}`;
  }

  async #pass(): Promise<void> {
    const { nodeName, node, registry, log, onChange } = this.#options;
    const now = node.current();
    // It is told of when it is registered.
    if (now === undefined) return;
    const before = this.problem();
    const facts: NodeInfoFacts = {
      nodeName,
      nodeUid: now.metadata.uid,
      drivers: registry.nodeDrivers(),
      left: this.#left,
    };
    try {
      await this.#keepNode(now, facts);
      await this.#keepCsiNode(facts);
      this.#failures = 0;
      this.#isDone = true;
      this.#uid = facts.nodeUid;
      this.#error = undefined;
    } catch (error) {
      this.#failures += 1;
      if (!this.#isDone) this.#error = errorMessage(error);
      log.debug(this.#failures === 1 ? 2 : 4, 'Failed to publish CSINode, trying again', {
        error: errorMessage(error),
      });
    }
    if (this.problem() !== before) onChange();
  }

  async #keepNode(now: Node, facts: NodeInfoFacts): Promise<void> {
    const { client, nodeName, log } = this.#options;
    const { metadata, collisions } = planNodeInfo(now, facts);
    const said = collisions.join('; ');
    if (said !== '' && said !== this.#saidCollisions)
      log.error('a CSI driver says that this node is elsewhere than its labels do; the labels stay', { error: said });
    this.#saidCollisions = said;
    // Labels and annotations go with a status (upstream: PatchNodeStatus).
    if (metadata !== undefined)
      await client.patch(
        nodes,
        { namespace: '', name: nodeName },
        { type: 'strategic', body: { metadata: { uid: now.metadata.uid, ...metadata } } },
        { subresource: 'status' },
      );
  }

  async #keepCsiNode(facts: NodeInfoFacts): Promise<void> {
    const { client, nodeName, log } = this.#options;
    const key = { namespace: '', name: nodeName };
    // Twice: what belongs to an earlier node of this name goes first.
    for (let round = 0; round < 2; round++) {
      const plan = planCsiNode(await this.#read(), facts);
      switch (plan.kind) {
        case 'none':
          return;
        case 'create':
          await client.create(csiNodes, plan.object);
          return;
        case 'update':
          await client.update(csiNodes, plan.object);
          return;
        case 'delete':
          log.info('the CSINode belongs to an earlier node of this name; it is made anew', { node: nodeName });
          await client.delete(csiNodes, key).catch((error: unknown) => {
            if (!isApiError(error, 'NotFound')) throw error;
          });
      }
    }
  }

  async #read(): Promise<CSINode | undefined> {
    const { client, nodeName } = this.#options;
    try {
      return await client.get(csiNodes, { namespace: '', name: nodeName });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** How many volumes a node takes may change while it runs: drivers that say so are asked again (upstream: MutableCSINodeAllocatableCount). */
  async #planRefresh(name: string): Promise<void> {
    const { objects, registry, clock } = this.#options;
    const there = (): boolean => registry.nodeDrivers().some((driver) => driver.name === name);
    const driver = there()
      ? await Promise.resolve(objects.get('CSIDriver', '', name)).catch(() => undefined)
      : undefined;
    const periodMs = there() ? (driver?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0) * 1000 : 0;
    const known = this.#refreshes.get(name);
    if (known?.periodMs === periodMs) return;
    known?.timer.cancel();
    this.#refreshes.delete(name);
    if (periodMs <= 0 || this.#ends.length === 0) return;
    const arm = (): void => {
      const timer = clock.setTimer(periodMs, () => {
        void this.refresh(name);
        arm();
      });
      this.#refreshes.set(name, { periodMs, timer });
    };
    arm();
  }

  /** Asks the driver again, as also when a volume could not be attached for want of room. */
  async refresh(name: string): Promise<void> {
    try {
      await this.#options.registry.refresh(name);
    } catch (error) {
      this.#options.log.debug(2, 'Failed to update CSIDriver', { driver: name, error: errorMessage(error) });
    }
  }
}
